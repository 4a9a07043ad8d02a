#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will take each selector in turn and show both sides of it: a bio
# that it names is delayed, one that it does not name passes.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

# Two partitions of 4096 sectors in a DOS label: type 0x83, first, count.
python3 - "$disk" <<'PYTHON'
import struct, sys
entries = b"".join(struct.pack("<B3xB3xII", 0, 0x83, first, 4096) for first in (2048, 8192))
with open(sys.argv[1], "r+b") as disk:
    disk.write(bytes(446) + entries + bytes(32) + b"\x55\xaa")
PYTHON
blockdev --rereadpt "$disk"
part=${disk}1
other=${disk}2

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
	[[ $got == "$want" ]] || fail "$what: '$*' was delayed: $got, not $want"
	printf '%-34s %-3s %s\n' "$what" "$got" "${*//$disk/DISK}"
}

with() { # ATTRIBUTE=WORDS...: a fresh rule with these
	[[ ! -d $rules/r ]] || rmdir "$rules/r"
	what="$*"
	rule r device="$disk_name" delay=1000 "$@" enabled=1
}

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

with ops=read
one yes bio read "$disk" 0 8
one no bio write "$other" 0 8
with ops=write
one yes bio write "$other" 0 8
one no bio read "$disk" 0 8
with ops=discard
one yes blkdiscard --force --offset 4194304 --length 4096 "$disk"
one no bio write "$other" 0 8
with ops=zeroes
one yes blkdiscard --force --zeroout --offset 4194304 --length 4096 "$disk"
one no bio write "$other" 0 8
with ops=flush
one yes sync "$disk"
one no bio read "$disk" 0 8

with flags_any=SYNC,FUA
one yes bio write "$other" 0 8
one no bio read "$disk" 0 8 fullblock
with flags_none=RAHEAD
one yes bio read "$disk" 0 8
with flags_none=SYNC ops=write
one no bio write "$other" 0 8

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
bash -c "until [[ -e /tmp/go ]]; do sleep 0.1; done; exec dd if=$disk of=/dev/null bs=4k count=1 iflag=direct" 2>/dev/null &
writer_pid=$!
with pid="$writer_pid"
one yes sh -c "touch /tmp/go; while kill -0 $writer_pid 2>/dev/null; do sleep 0.1; done"
writer_pid=

cgroups=/tmp/cgroups
mkdir --parents "$cgroups"
mount -t cgroup2 cgroup2 "$cgroups"
mkdir "$cgroups/slow"
with cgroup="$(stat --format=%i "$cgroups/slow")"
one no bio read "$disk" 0 8
one yes sh -c "echo \$\$ >$cgroups/slow/cgroup.procs
	dd if=$disk of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null"

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

wipefs --all --quiet --force "$disk"
blockdev --rereadpt "$disk"
quiet_kernel
