#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will attach bpftrace's kprobe, fentry and fexit to the function that the
# module probes, and show that both work, in each mode, whichever is removed first; and
# that the module refuses to load if a kprobe was there before it. Before 6.0 the kernel
# allows either fentry or fexit or the module: then that the second is refused, and the
# first is not disturbed. A third argument names the probes: all.
# expects: biodelay: another probe is on submit_bio_noacct
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

function=submit_bio_noacct
grep --quiet " $function$" /proc/kallsyms || function=generic_make_request
tracer_pid=

trace() { # PROBE: start bpftrace and wait until it counts
	rm --force /tmp/traced
	bpftrace -e "$1 /comm == \"dd\"/ { @bios += 1; }
		interval:ms:100 { printf(\"alive\n\"); }" >/tmp/traced 2>&1 &
	tracer_pid=$!
	until grep --quiet alive /tmp/traced 2>/dev/null; do
		kill -0 "$tracer_pid" || fail "bpftrace: $(cat /tmp/traced)"
		sleep 0.1
	done
}

traced=
untrace() { # stop it; leaves its count of dd's bios in traced
	kill -INT "$tracer_pid"
	wait "$tracer_pid" || true
	tracer_pid=
	traced=$(sed --quiet 's/^@bios: //p' /tmp/traced)
	traced=${traced:-0}
}

five() { # WANT WHAT: so many of five reads of dd's are delayed
	local before
	before=$(status delayed)
	dd if="$disk" of=/dev/null bs=4k count=5 iflag=direct 2>/dev/null
	[[ $(($(status delayed) - before)) == "$1" ]] ||
		fail "$probe, $mode, $2: $(($(status delayed) - before)) of 5 delayed"
}

load() { insmod "$module" device="$disk_name" ops=read delay_us=20000 mode="$mode"; }

exclude() { # what the tracer and the module do to each other before that
	load
	trace "$probe"
	if { echo 1 >"$params/enabled"; } 2>/dev/null; then
		fail "$probe: armed beside a trampoline"
	fi
	dmesg | grep --quiet "a BPF trampoline .* is on $function" || fail "the log does not say why"
	five 0 "refused"
	untrace
	[[ $traced -ge 5 ]] || fail "$probe: the tracer saw $traced of 5"
	echo 1 >"$params/enabled"
	five 5 "the tracer left"
	if timeout 60 bpftrace -e "$probe { } interval:s:1 { exit(); }" >/dev/null 2>&1; then
		fail "$probe: joined us"
	fi
	five 5 "the tracer was refused"
	rmmod biodelay
	printf '%-36s %-6s refused\n' "$probe" "$mode"
}

in_each_mode() { # WANT WHAT: of five reads, so many are delayed
	for mode in "${modes[@]}"; do
		echo "$mode" >"$params/mode"
		five "$1" "$2"
	done
}

share() { # a tracer that comes second and leaves first, and one that does neither
	load
	trace "$probe"
	echo 1 >"$params/enabled"
	in_each_mode 5 "armed after the tracer"
	echo 0 >"$params/enabled"
	in_each_mode 0 "disarmed"
	echo 1 >"$params/enabled"
	in_each_mode 5 "armed again"
	untrace
	# A deferred bio passes again, submitted by the worker: not dd's.
	[[ $traced -ge $((5 * ${#modes[@]})) ]] ||
		fail "$probe: the tracer saw $traced of ${#modes[@]} times 15"
	in_each_mode 5 "the tracer left"

	trace "$probe"
	in_each_mode 5 "armed before the tracer"
	rmmod biodelay
	dd if="$disk" of=/dev/null bs=4k count=5 iflag=direct 2>/dev/null
	untrace
	[[ $traced -ge 5 ]] || fail "$probe: the tracer, left alone, saw $traced"
	printf '%-36s %s ok\n' "$probe" "${modes[*]}"
}

for kind in ${3:-kprobe fentry:vmlinux fexit:vmlinux}; do
	probe=$kind:$function
	modes=(sleep defer spin)
	# A BPF trampoline conflicts only with modes that redirect the caller.
	[[ $probe == kprobe:* ]] || modes=(sleep defer)
	# 53cd885bc5c3, "ftrace: Allow IPMODIFY and DIRECT ops on the same function"
	if [[ $probe == kprobe:* ]] || since 6.0; then
		mode=${modes[0]}
		share
		continue
	fi
	for mode in "${modes[@]}" spin; do
		exclude
	done
done

mode="sleep"
trace "kprobe:$function"
if load 2>/dev/null; then
	fail "joined a kprobe that was there before"
fi
dmesg | grep --quiet "another probe is on $function" || fail "the log does not say why"
untrace
load
