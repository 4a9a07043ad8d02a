#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will let perf, trace-cmd and bpftrace read the tracepoint, each while five
# bios are delayed, and hold what each tells against the record.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

cd /tmp || fail "no /tmp" # perf and trace-cmd leave their data where they stand
printed='dur_ns=\([0-9]*\).*'

with_perf() {
	perf record --quiet --all-cpus --event biodelay:bio_delay -- "$@" >&2
	perf script | sed --quiet "s/.*bio_delay: .*$printed/\1/p"
}
with_trace_cmd() {
	trace-cmd record -q -e biodelay:bio_delay "$@" >&2
	trace-cmd report | sed --quiet "s/.*bio_delay: .*$printed/\1/p"
}
with_bpftrace() {
	bpftrace -e 'tracepoint:biodelay:bio_delay { printf("dur_ns %llu\n", args.dur_ns); }' \
		-c "$*" | sed --quiet 's/^dur_ns //p'
}

insmod "$module" device="$disk_name" ops=write delay_us=2000 enabled=1
for tracer in with_perf with_trace_cmd with_bpftrace; do
	record >/dev/null
	"$tracer" /usr/bin/dd if=/dev/zero of="$disk" bs=4k count=5 oflag=direct \
		2>"/tmp/$tracer" | sort >/tmp/told
	record | sed --quiet 's/.*"dur_ns":\([0-9]*\).*/\1/p' | sort >/tmp/recorded
	[[ $(wc --lines </tmp/recorded) == 5 ]] || fail "recorded: $(cat /tmp/recorded)"
	cmp /tmp/told /tmp/recorded ||
		fail "$tracer told $(cat /tmp/told), not $(cat /tmp/recorded): $(cat "/tmp/$tracer")"
done
quiet_kernel
