#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will take each selector in turn, in each mode, and show both cases: a bio
# that it matches is delayed, one that it does not match passes. A third argument names
# the modes.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

# Three partitions in a DOS label: type 0x83, first sector, count.
python3 - "$disk" <<'PYTHON'
import struct, sys
parts = (2048, 4096), (8192, 4096), (16384, 131072)
entries = b"".join(struct.pack("<B3xB3xII", 0, 0x83, *part) for part in parts)
with open(sys.argv[1], "r+b") as disk:
    disk.write(bytes(446) + entries + bytes(16) + b"\x55\xaa")
PYTHON
blockdev --rereadpt "$disk"
part=${disk}1
other=${disk}2
files=${disk}3

insmod "$module"
echo 50 >/proc/sys/vm/dirty_writeback_centisecs
echo 10 >/proc/sys/vm/dirty_expire_centisecs

bio() { # read|write DEVICE SECTOR COUNT [dd's flags]: one bio of dd's
	local flags=${5:-direct}
	if [[ $1 == read ]]; then
		dd if="$2" of=/dev/null bs="$(($4 * 512))" count=1 \
			skip="$(($3 * 512))B" iflag="$flags" 2>/dev/null
	else
		dd if=/dev/zero of="$2" bs="$(($4 * 512))" count=1 \
			seek="$(($3 * 512))B" oflag="$flags" conv=notrunc 2>/dev/null
	fi
}

ahead() { # bios that were not asked for yet
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$disk" of=/dev/null bs=4k count=64 2>/dev/null
}

mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$files"
mkdir --parents "$mount_point"
tree() { # [OPTIONS]: what a file system reads when mounted, and a commit's bios
	mount -o "${1:-rw}" "$files" "$mount_point"
	[[ ! -e $mount_point/lost+found/none ]] || fail "who made that?"
	[[ $# == 1 ]] || dd if=/dev/zero of="$mount_point/file" bs=4k count=1 \
		conv=fsync 2>/dev/null
	umount "$mount_point"
}

dirty() { # a page that the flusher writes back; the last to close would sync it
	exec 9<"$other"
	echo hello | dd of="$other" bs=4k seek=9 conv=notrunc 2>/dev/null
	sleep 3
	exec 9<&-
}

one() { # yes|no BIO...: whether the rule delays it
	local want=$1 got=no before
	shift
	before=$(status r.delayed)
	"$@"
	[[ $(status r.delayed) == "$before" ]] || got=yes
	[[ $got == "$want" ]] || fail "$mode, $what: '$*' was delayed: $got, not $want"
	printf '%-5s %-34s %-3s %s\n' "$mode" "$what" "$got" "${*//$disk/DISK}"
}

with() { # ATTRIBUTE=WORDS...: a fresh rule with these
	[[ ! -d $rules/r ]] || rmdir "$rules/r"
	what="$*"
	rule r device="$disk_name" delay=1000 mode="$mode" "$@" enabled=1
}

cgroups=/tmp/cgroups
mkdir --parents "$cgroups"
mount -t cgroup2 cgroup2 "$cgroups"
mkdir "$cgroups/slow"
leave_cgroups() { # as they were found: the next script makes its own
	rmdir "$cgroups/slow" || true
	umount "$cgroups" || true
}
trap 'leave_cgroups; cleanup' EXIT

devices() {
	with device="$disk_name"
	one yes bio read "$disk" 0 8
	one yes bio read "$part" 0 8
	with device="${disk_name}1"
	one yes bio read "$part" 0 8
	one no bio read "$other" 0 8
	one no bio read "$disk" 0 8
	with device="$(cat "/sys/block/$disk_name/${disk_name}2/dev")"
	one yes bio read "$other" 0 8
	one no bio read "$part" 0 8
}

operations() {
	with ops=read
	one yes bio read "$disk" 0 8
	one no bio write "$other" 0 8
	with ops=write
	one yes bio write "$other" 0 8
	one no bio read "$disk" 0 8
	# 5.0: 1f23816b8eb8, "virtio_blk: add discard and write zeroes support"
	if since 5.0; then
		with ops=discard
		one yes blkdiscard --force --offset 4194304 --length 4096 "$disk"
		one no bio write "$other" 0 8
		with ops=zeroes
		one yes blkdiscard --force --zeroout --offset 4194304 --length 4096 "$disk"
		one no bio write "$other" 0 8
	fi
	with ops=flush
	one yes sync "$disk"
	one no bio read "$disk" 0 8
}

flags() {
	with flags_any=SYNC
	one yes bio write "$other" 0 8
	one no ahead
	with flags_any=META
	one yes tree ro,noload
	one no bio write "$other" 0 8
	one no sync "$disk"
	one no ahead
	with flags_any=PRIO
	one yes tree ro,noload
	one no bio write "$other" 0 8
	with flags_any=PRIO submitter='jbd2/*'
	one no tree
	with flags_any=FUA submitter='jbd2/*'
	one yes tree
	with flags_any=FUA
	one no sync "$disk"
	one no tree ro,noload
	with flags_any=PREFLUSH
	one yes sync "$disk"
	one no tree ro,noload
	one no bio write "$other" 0 8
	with flags_any=RAHEAD
	one yes ahead
	one no bio read "$disk" 0 8
	with flags_any=META,RAHEAD
	one yes ahead
	one yes tree ro,noload
	one no bio write "$other" 0 8
	with flags_none=SYNC
	one yes ahead
	one no bio write "$other" 0 8
	with flags_none=RAHEAD ops=read
	one yes bio read "$disk" 0 8
	one no ahead
	with flags_none=PREFLUSH
	one yes bio write "$other" 0 8
	one no sync "$disk"
	with flags_none=SYNC,PREFLUSH
	one yes ahead
	one no bio write "$other" 0 8
	one no sync "$disk"
}

submitters() {
	with submitter='d?'
	one yes bio read "$disk" 0 8
	with submitter='jbd2/*'
	one no bio read "$disk" 0 8
	with kind=user
	one yes bio read "$disk" 0 8
	with kind=kthread
	one no bio read "$disk" 0 8
	one yes dirty
	with kind=writeback
	one no bio write "$other" 0 8
	one yes dirty

	with pid=$$
	one no bio read "$disk" 0 8
	with pid=0
	one yes bio read "$disk" 0 8
	rm --force /tmp/go
	bash -c "until [[ -e /tmp/go ]]; do sleep 0.1; done; exec dd if=$disk of=/dev/null bs=4k count=1 iflag=direct" 2>/dev/null &
	writer_pid=$!
	with pid="$writer_pid"
	one yes sh -c "touch /tmp/go; while kill -0 $writer_pid 2>/dev/null; do sleep 0.1; done"
	writer_pid=

	with cgroup="$(stat --format=%i "$cgroups/slow")"
	one no bio read "$disk" 0 8
	one yes sh -c "echo \$\$ >$cgroups/slow/cgroup.procs
		dd if=$disk of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null"
}

places() {
	with sectors=100-200
	one yes bio read "$disk" 200 8
	one yes bio read "$disk" 96 8
	one no bio read "$disk" 201 8
	one no bio read "$disk" 0 8
	with device="${disk_name}1" sectors=0-7
	one yes bio read "$part" 0 8
	one no bio read "$part" 8 8
	with bytes=4096-8192
	one yes bio read "$disk" 0 8
	one no bio read "$disk" 0 1
	one no bio read "$disk" 0 17
}

for mode in ${3:-sleep defer spin}; do
	devices
	operations
	flags
	submitters
	places
done

wipefs --all --quiet --force "$disk"
blockdev --rereadpt "$disk"
