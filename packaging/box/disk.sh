#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# disk.sh: a boot loader in front of a file system, as a compressed disk image
#
# ./writestall dev box starts it in a tree that has GRUB and qemu-img. It reads
# /mnt/host/root.ext4 and writes /mnt/host/box.img. Nothing is mounted.
set -eu

cd /mnt/host
gap_sectors=2048 # of 512 bytes, before the only partition: GRUB lives there
printf 'label: dos\nstart=%s, type=83, bootable\n' "$gap_sectors" >/tmp/table
truncate --size "$(($(stat --format %s root.ext4) + gap_sectors * 512))" raw.img
sfdisk --quiet raw.img </tmp/table
dd if=root.ext4 of=raw.img bs=1M seek=1 conv=notrunc,sparse status=none
# The first sector of GRUB loads the second, and that the rest, from the sectors that
# follow: grub-mkimage writes their number, and these places are its defaults.
grub-mkimage --format i386-pc --output /tmp/core.img --prefix '(hd0,msdos1)/boot/grub' \
	biosdisk part_msdos ext2 normal configfile linux serial terminal
dd if=/usr/lib/grub/i386-pc/boot.img of=raw.img bs=440 count=1 conv=notrunc status=none
dd if=/tmp/core.img of=raw.img bs=512 seek=1 conv=notrunc status=none
qemu-img convert -c -O qcow2 raw.img box.img
