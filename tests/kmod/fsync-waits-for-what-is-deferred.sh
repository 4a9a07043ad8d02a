#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will show that fsync(2) returns when the deferred data is on the disk and
# not before, on a file system and on the raw disk.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

mounted
insmod "$module" device="$disk_name" mode=defer delay_us=400000 ops=write,flush
for turn in 1 2 3; do
	head --bytes=64k /dev/urandom >/tmp/data
	echo 1 >"$params/enabled"
	start=$(now_ms)
	dd if=/tmp/data of="$mount_point/file$turn" bs=64k conv=fsync 2>/dev/null
	took=$(($(now_ms) - start))
	((took >= 400)) || fail "fsync took $took ms: it did not wait"
	# Data covered by fsync is on the disk although other bios are held: read it past the
	# cache.
	echo 0 >"$params/enabled"
	sync --file-system "$mount_point/file$turn"
	echo 3 >/proc/sys/vm/drop_caches
	cmp /tmp/data "$mount_point/file$turn" || fail "file$turn differs"
done
umount "$mount_point"

echo 1 >"$params/enabled"
dd if=/tmp/data of="$disk" bs=64k conv=fsync 2>/dev/null
[[ $(status in_flight) == 0 ]] || fail "fsync returned with bios held"
echo 0 >"$params/enabled"
dd if="$disk" bs=64k count=1 iflag=direct 2>/dev/null | cmp - /tmp/data ||
	fail "the disk differs"
