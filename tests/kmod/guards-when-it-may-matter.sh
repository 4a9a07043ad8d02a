#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will count the runs of the guard on the disk: one when a rule is armed, one
# for each write of device or force after that, and none for any other write, such as a
# heartbeat.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
insmod "$module" device="$disk_name" delay_us=1000 ops=other heartbeat_ms=60000
echo "p:guards biodelay_guard_device" >"$tracing/kprobe_events"
end_count() {
	echo 0 >"$tracing/events/kprobes/guards/enable"
	echo >"$tracing/kprobe_events"
	cleanup
}
trap end_count EXIT
echo 1 >"$tracing/events/kprobes/guards/enable"

expect() { # RUNS WHAT: since the last call
	local now runs
	now=$(awk '$1 == "guards" { print $2 }' "$tracing/kprobe_profile")
	runs=$((now - before))
	before=$now
	echo "$runs runs: $2"
	((runs == $1)) || fail "$2: the guard ran $runs times, not $1"
}
before=0

echo 1 >"$params/enabled"
expect 1 "arming"
start=$(now_ms)
for ((beat = 0; beat < 100; beat++)); do
	echo 60000 >"$params/heartbeat_ms"
done
echo "$(($(now_ms) - start)) ms for 100 heartbeats"
expect 0 "100 heartbeats"
for attribute in ops delay_us ttl_ms order; do
	cat "$params/$attribute" >/tmp/value
	cat /tmp/value >"$params/$attribute"
done
expect 0 "other attributes"
echo "$disk_name" >"$params/force"
expect 1 "force"
echo "$disk_name" >"$params/device"
expect 1 "device"
