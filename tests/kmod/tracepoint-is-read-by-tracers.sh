#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will let perf, trace-cmd and bpftrace read the tracepoint, each while five
# writes and a flush are delayed in each mode, and compare what each prints with the
# record: for perf and trace-cmd also the names of the mode, the op and the flags.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

cd /tmp || fail "no /tmp" # perf and trace-cmd leave their data in it
printed='.* mode=\([a-z]*\) .* op=\([a-z]*\) flags=\([A-Z,]*\) .*dur_ns=\([0-9]*\).*'
recorded='.*"dur_ns":\([0-9]*\).*"mode":"\([a-z]*\)".*"op":"\([a-z]*\)","flags":\[\(.*\)\].*'

with_perf() {
	perf record --quiet --all-cpus --event biodelay:bio_delay -- "$@" >&2
	perf script | tee /tmp/printed | sed --quiet "s/$printed/\1 \2 \3 \4/p"
}
with_trace_cmd() {
	trace-cmd record -q -e biodelay:bio_delay "$@" >&2
	trace-cmd report | tee /tmp/printed | sed --quiet "s/$printed/\1 \2 \3 \4/p"
}
with_bpftrace() { # dur_ns alone: it has no names for the numbers
	bpftrace -e 'tracepoint:biodelay:bio_delay { printf("dur_ns %llu\n", args.dur_ns); }' \
		-c "$*" | sed --quiet 's/^dur_ns //p'
}

insmod "$module" device="$disk_name" ops=write,flush delay_us=2000
for mode in sleep defer spin; do
	echo 0 >"$params/enabled"
	echo "$mode" >"$params/mode"
	echo 1 >"$params/enabled"
	for tracer in with_perf with_trace_cmd with_bpftrace; do
		record >/dev/null
		: >/tmp/printed
		"$tracer" /usr/bin/dd if=/dev/zero of="$disk" bs=4k count=5 oflag=direct \
			conv=fsync 2>"/tmp/$tracer" | sort >/tmp/printed
		record | sed "s/$recorded/\2 \3 \4 \1/" | tr --delete '"' | sort >/tmp/recorded
		[[ $(grep --count "^$mode write SYNC " /tmp/recorded) == 5 &&
			$(grep --count "^$mode flush SYNC,PREFLUSH " /tmp/recorded) == 1 ]] ||
			fail "recorded: $(cat /tmp/recorded)"
		[[ $tracer != with_bpftrace ]] ||
			sed 's/.* //' /tmp/recorded | sort --output=/tmp/recorded
		cmp /tmp/printed /tmp/recorded ||
			fail "$tracer printed $(cat /tmp/printed), not $(cat /tmp/recorded):" \
				"$(cat "/tmp/$tracer" /tmp/printed)"
	done
done
