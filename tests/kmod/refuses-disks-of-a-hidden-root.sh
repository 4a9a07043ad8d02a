#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will name disks that the root file system or the swap is on although no mount
# shows it: one below a loop device, one with a journal or log, one with a file below
# swap; and show that each is refused, and that it is not once it is free, or the journal
# is another file system's.
# expects: biodelay: device (vdb|sda) has, or may have, .*: refused; set force=
# An old loop device ends what its disk cannot discard or zero with an I/O error (4.19,
# drivers/block/loop.c, lo_complete_rq()), and mkfs.ext4 asks for both.
# expects: print_req_error: I/O error, dev loop0, sector
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

other=/dev/sda
mkdir --parents "$mount_point"
loop=

end_hidden() {
	swapoff "$loop" 2>/dev/null || true
	umount "$mount_point" 2>/dev/null || true
	[[ -z $loop ]] || losetup --detach "$loop"
	cleanup
}
trap end_hidden EXIT

expect() { # ERRNO-OR-0 WHAT: for the disk, named by a task with its root there
	local got
	got=$(python3 "$here/as_root.py" "$mount_point" "$params/device" \
		"$(cat "/sys/block/$disk_name/dev")")
	[[ $got == "$1" ]] || fail "$2: $got, not $1"
	echo "$got: $2"
}

insmod "$module" delay_us=1000 ops=other
modprobe loop

loop=$(losetup --find --show "$disk")
mkfs.ext4 -q -F "$loop"
mount "$loop" "$mount_point"
expect EPERM "a disk below a loop device with the root"
umount "$mount_point"
losetup --detach "$loop"
loop=

mke2fs -q -F -O journal_dev "$disk"
mkfs.ext4 -q -F -J device="$disk" "$other"
mount "$other" "$mount_point"
expect EPERM "the disk of the root's journal"
got=$(python3 "$here/as_root.py" / "$params/device" "$(cat "/sys/block/$disk_name/dev")")
[[ $got == 0 ]] || fail "the disk of another file system's journal: $got, not 0"
umount "$mount_point"

wipefs --quiet --all "$disk" "$other"
if mounts xfs; then
	# What this kernel can mount.
	options=/usr/share/xfsprogs/mkfs/lts_$(uname --kernel-release | cut --delimiter=. --fields=1,2).conf
	can=()
	[[ ! -e $options ]] || can=(-c "options=$options")
	mkfs.xfs -q -f "${can[@]}" -l logdev="$disk",size=64m "$other"
	mount -o logdev="$disk" "$other" "$mount_point"
	expect EPERM "the disk of the root's log"
	umount "$mount_point"
	wipefs --quiet --all "$disk"
fi

mkfs.ext4 -q -F "$disk"
mkdir --parents /tmp/below
mount "$disk" /tmp/below
truncate --size=16M /tmp/below/swap
loop=$(losetup --find --show /tmp/below/swap)
mkswap "$loop" >/dev/null
mkfs.ext4 -q -F "$other"
mount "$other" "$mount_point"
expect 0 "a disk with a file below a loop device"
swapon "$loop"
expect ETXTBSY "a disk with a file below swap"
swapoff "$loop"
losetup --detach "$loop"
loop=
umount /tmp/below
expect 0 "a disk that is free"
