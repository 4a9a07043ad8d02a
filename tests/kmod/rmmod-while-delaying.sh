#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will unload the module while it holds a bio for 20 s, and show that this
# wakes the task at once, is prompt, and loses no written data.
#
# Prompt is measured twice. The module's own line in the kernel log says how
# long the release took; at best of five, it is within 10 ms. And unloading with
# something held is compared with unloading the same module, armed, with nothing
# held, in turns: the medians differ by at most 100 ms. An absolute bound would
# measure the host, which a module's unload waits for in every grace period.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

mounted
sync
turns=5
rm --force /tmp/idle_ms /tmp/holding_ms
for ((turn = 0; turn < turns; turn++)); do
	insmod "$module" device="$disk_name" delay_us=20000000 ops=discard enabled=1
	unload >>/tmp/idle_ms

	insmod "$module" device="$disk_name" delay_us=20000000 ops=write enabled=1
	start=$(now_ms)
	dd if=/dev/zero of="$mount_point/file$turn" bs=64k count=1 conv=fsync \
		2>/dev/null &
	writer_pid=$!
	until [[ $(status in_flight) -gt 0 ]]; do sleep 0.01; done
	unload >>/tmp/holding_ms
	check "the held task failed" wait "$writer_pid"
	writer_pid=
	took=$(($(now_ms) - start))
	((took < 10000)) || fail "the held task went on after $took ms only"
done

umount "$mount_point"
check "fsck found damage" fsck.ext4 -n -f "$disk" >/dev/null 2>&1
mount "$disk" "$mount_point"
for ((turn = 0; turn < turns; turn++)); do
	[[ $(stat --format=%s "$mount_point/file$turn") == 65536 ]] ||
		fail "file$turn is short"
done

median() { sort --numeric-sort "$1" | sed --quiet "$((turns / 2 + 1))p"; }
idle=$(median /tmp/idle_ms)
holding=$(median /tmp/holding_ms)
release=$(dmesg | sed --quiet 's/.*held bios released in \([0-9]*\) us/\1/p' |
	sort --numeric-sort)
printf 'unload: %s ms idle, %s ms holding; release, us: %s\n' \
	"$idle" "$holding" "${release//$'\n'/ }"
[[ $(wc --lines <<<"$release") -ge $turns ]] || fail "the log tells no release"
((${release%%$'\n'*} <= 10000)) || fail "the release was never within 10 ms"
((holding - idle <= 100)) || fail "holding costs $((holding - idle)) ms"
