#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will put device-mapper on the disk and show, in each mode, that a bio is
# delayed once on the device that a rule names, the upper or the lower, and twice with a
# rule for each, unless deferred by the upper; and that the disk below a root is refused.
# expects: biodelay: device [^ ]+ has, or may have, the root file system: refused
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

upper=biodelay-upper
dmsetup create "$upper" --table "0 1048576 linear $disk 2048"
dmsetup mknodes "$upper"
trap 'umount --recursive /tmp/inner 2>/dev/null || true
	cleanup; dmsetup remove --retry "$upper"' EXIT
insmod "$module"
number=$(dmsetup info --columns --noheadings --separator : --options major,minor "$upper")

delays() { # how often one write of 256 KiB to the upper device is delayed
	local before
	before=$(status delayed)
	dd if=/dev/zero of="/dev/mapper/$upper" bs=256k count=1 oflag=direct 2>/dev/null
	echo $(($(status delayed) - before))
}

expect() { # COUNT WHAT
	local got
	got=$(delays)
	[[ $got == "$1" ]] || fail "$mode, $2: delayed $got times, not $1"
}

# The lower rule lets bios of the upper rule's thread pass (defer).
declare -A both=([sleep]=2 [defer]=1 [spin]=2)
for mode in sleep defer spin; do
	rule upper device="$number" ops=write mode="$mode" delay=2000000
	rule lower device="$disk_name" ops=write mode="$mode" delay=2000000
	rule upper enabled=1
	expect 1 "a rule for the upper device"
	rule upper enabled=0
	rule lower enabled=1
	expect 1 "a rule for the lower device"
	rule upper enabled=1
	expect "${both[$mode]}" "rules for both"
	rule upper enabled=0
	echo 64 >"/sys/block/$disk_name/queue/max_sectors_kb"
	expect 1 "split below"
	echo 1280 >"/sys/block/$disk_name/queue/max_sectors_kb"
	rule lower enabled=0
done

# A root on the upper device is on the lower one, too.
mkfs.ext4 -q -F "/dev/mapper/$upper"
mkdir --parents /tmp/inner
mount "/dev/mapper/$upper" /tmp/inner
mkdir /tmp/inner/dev /tmp/inner/sys
cp "$(command -v busybox)" /tmp/inner/busybox
mount --bind /dev /tmp/inner/dev
mount --rbind /sys /tmp/inner/sys
name() { # DEVICE: the root's name in the answer
	chroot /tmp/inner /busybox sh -c "echo $1 >$rules/lower/device" 2>&1 || true
}
[[ $(name "$number") == *"not permitted"* ]] || fail "root's device was taken"
[[ $(name "$disk_name") == *"not permitted"* ]] || fail "the disk below was taken"
[[ -z $(name sda) ]] || fail "another disk was refused"
