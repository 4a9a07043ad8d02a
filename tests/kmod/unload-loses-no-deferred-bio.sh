#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will unload the module while many bios are deferred for 20 s, and show that
# all of them are submitted at once and no written data is lost.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

mounted
head --bytes=4M /dev/urandom >/tmp/data
insmod "$module" device="$disk_name" mode=defer delay_us=20000000 enabled=1
start=$(now_ms)
dd if=/tmp/data of="$mount_point/file" bs=64k conv=fsync 2>/dev/null &
writer_pid=$!
until [[ $(status in_flight) -gt 0 ]]; do sleep 0.01; done
unload >/dev/null
check "the writer failed" wait "$writer_pid"
writer_pid=
took=$(($(now_ms) - start))
((took < 15000)) || fail "the writer went on after $took ms only"
umount "$mount_point"
check "fsck found damage" fsck.ext4 -n -f "$disk" >/dev/null 2>&1
mount "$disk" "$mount_point"
cmp /tmp/data "$mount_point/file" || fail "the file differs"
