#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# e2fsck-fast-commit.sh: show that e2fsck loses a file's blocks when it replays a fast commit
#
# usage: e2fsck-fast-commit.sh DIR (as root; an empty folder for two images of 64 MiB)
# Status 0: the copy that e2fsck recovered has the file as the kernel had it, 1: it has not.
set -eu
case ${1:-} in
"" | -*)
	echo "usage: $0 DIR: as root; an empty folder for two images of 64 MiB"
	[ "${1:-}" = --help ] && exit 0
	exit 2
	;;
esac
cd "$1"
mkdir mnt
truncate -s 64M disk
mkfs.ext4 -q -F -b 4096 -O fast_commit disk
mount -o loop disk mnt
touch mnt/file
sync # what follows changes this inode and its group alone

tr '\0' a </dev/zero | dd of=mnt/file bs=4k count=1 iflag=fullblock conv=notrunc,fsync status=none
sleep 7 # the timer of the journal, 5 s: a full commit, not yet checkpointed
tr '\0' b </dev/zero | dd of=mnt/file bs=4k count=1 iflag=fullblock seek=1 \
	conv=notrunc,fsync status=none # a fast commit
cp disk copy # as a power failure would leave the disk now
echo "inode $(stat -c %i mnt/file), written: $(sha256sum <mnt/file)"
umount mnt

cp copy by-kernel
mount -o loop by-kernel mnt
echo "recovered by the kernel: $(sha256sum <mnt/file)"
right=$(sha256sum <mnt/file)
umount mnt

e2fsck -p copy
mount -o loop copy mnt
echo "recovered by e2fsck: $(sha256sum <mnt/file)"
lost=0
[ "$(sha256sum <mnt/file)" = "$right" ] || lost=1
od -A d -c mnt/file | head -n 6
umount mnt
e2fsck -f -n copy || lost=1
exit $lost
