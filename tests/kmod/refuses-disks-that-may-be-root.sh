#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will name disks that have, or may have, the root file system: one below
# btrfs, below device-mapper, with swap on its 70th partition, and one that cannot be
# opened any more, and show that each is refused unless forced, and that a disk in other
# use is not.
# expects: biodelay: device [^ ]+ (has, or may have, .*|cannot be opened): refused
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

other=/dev/sda
other_name=${other##*/}
mkdir --parents "$mount_point" /tmp/other-mount

name_it() { # DISK-NAME, in a task whose root is $mount_point: the errno's name or 0
	python3 "$here/as_root.py" "$mount_point" "$params/device" "$(cat "/sys/block/$1/dev")"
}

refused() { # ERRNO DISK-NAME WHAT
	local got
	echo "" >"$params/force"
	got=$(name_it "$2")
	[[ $got == "$1" ]] || fail "$3 was taken: $got, not $1"
	echo "$2" >"$params/force"
	got=$(name_it "$2")
	[[ $got == 0 ]] || fail "$3 was refused although forced: $got"
	echo "" >"$params/force"
	echo "refused: $3"
}

insmod "$module" delay_us=1000 ops=other
mkfs.ext4 -q -F "$other"
if mounts btrfs; then
	wipefs --quiet --all "$disk" # mkfs.btrfs leaves the superblock of XFS at the start
	mkfs.btrfs --quiet --force "$disk" 2>/dev/null # no btrfs-control
	mount "$disk" "$mount_point"
	mount "$other" /tmp/other-mount
	refused EPERM "$disk_name" "btrfs' disk"
	got=$(name_it "$other_name")
	[[ $got == 0 ]] || fail "another file system's disk was refused: $got"
	umount "$mount_point" /tmp/other-mount
fi

# The target's sectors are on the whole disk, which therefore is part of a larger
# device.
dmsetup create below-root --table "0 $(blockdev --getsz "$disk") linear $disk 0"
dmsetup mknodes
mkfs.ext4 -q -F /dev/mapper/below-root
mount /dev/mapper/below-root "$mount_point"
refused EPERM "$disk_name" "the disk below device-mapper"
umount "$mount_point"
dmsetup remove below-root

wipefs --quiet --all "$disk"
python3 "$here/partitions.py" add "$disk" 70
until [[ -b ${disk}70 ]]; do sleep 0.1; done
mkswap "${disk}70" >/dev/null
swapon "${disk}70"
mount "$other" "$mount_point"
refused ETXTBSY "$disk_name" "the disk with swap on its 70th partition"
swapoff "${disk}70"
got=$(name_it "$disk_name")
[[ $got == 0 ]] || fail "a disk with 70 partitions was refused: $got"
python3 "$here/partitions.py" delete "$disk" 70
umount "$mount_point"

host=$(readlink --canonicalize "/sys/block/$other_name/device/../..")
echo "$other_name" >"$params/device"
echo 1 >"/sys/block/$other_name/device/delete"
if echo 1 2>/dev/null >"$params/enabled"; then
	fail "armed for a disk that cannot be opened"
fi
echo "$other_name" >"$params/force"
echo 1 >"$params/enabled" || fail "refused although forced"
echo 0 >"$params/enabled"
echo "- - -" >"$(echo "$host"/scsi_host/host*/scan)"
until [[ -b $other ]]; do sleep 0.1; done
