#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will see that a disk in use is refused always, and one that carries
# data is refused without --wipe, both without a changed byte.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

fingerprint() {
	head --bytes 4M "$DISK" | sha256sum
}

# A DOS partition table by hand: type, first sector, sectors; each little-endian
two_partitions() {
	printf '\0\0\0\0\x83\0\0\0\0\x08\0\0\0\0\x10\0' >"$WORK/table"
	printf '\0\0\0\0\x83\0\0\0\0\x08\x10\0\0\0\x10\0' >>"$WORK/table"
	dd if="$WORK/table" of="$DISK" bs=1 seek=446 status=none
	printf '\x55\xaa' | dd of="$DISK" bs=1 seek=510 status=none
	blockdev --rereadpt "$DISK"
}

# refused WHAT PATTERN ARGUMENT...: one line, status 2, nothing changed
refused() {
	local what=$1 pattern=$2 status=0 output before
	shift 2
	before=$(fingerprint)
	output=$("$TREE/repro/run" journal-buffer --out "$WORK/run" "$@" 2>&1) ||
		status=$?
	say "$what: $output"
	expect "$what: status" "$status" 2
	expect_match "$what: message" "$output" "$pattern"
	expect "$what: lines" "$(wc --lines <<<"$output")" 1
	expect "$what: the disk" "$(fingerprint)" "$before"
	[[ ! -e $WORK/run/manifest.json ]] || failed "$what: left a manifest"
	expect_nothing_left "$what"
}

# refused_always WHAT PATTERN ARGUMENT...: with --wipe as without
refused_always() {
	refused "$@" --disk "$DISK"
	refused "$1 --wipe" "${@:2}" --disk "$DISK" --wipe
}

args=("$@")
refused 'no disk' '*--disk is missing*' "${args[@]}"
refused 'absent' '*/dev/absent: No such file*' --disk /dev/absent "${args[@]}"
refused 'a file' '*is no block device*' --disk /etc/passwd "${args[@]}"
refused 'a character device' '*is no block device*' --disk /dev/null \
	"${args[@]}"
refused 'no duration' '*--duration-s: *want 1 to*' --duration-s 0 \
	--disk "$DISK" "${args[@]}"

mkfs.ext4 -q "$DISK"
refused 'a file system' '*carries data (ext4); --wipe destroys it' \
	--disk "$DISK" "${args[@]}"

mkdir "$WORK/mnt"
mount -o ro,noload "$DISK" "$WORK/mnt"
refused_always 'mounted' "*vdb is mounted on $WORK/mnt*" "${args[@]}"
umount "$WORK/mnt"

wipefs --all --quiet "$DISK"
mkswap --quiet "$DISK"
refused 'unused swap' '*carries data (swap)*' --disk "$DISK" "${args[@]}"
swapon "$DISK"
refused_always 'swap' '*vdb is swap*' "${args[@]}"
swapoff "$DISK"

wipefs --all --quiet "$DISK"
two_partitions
refused 'partitions' '*carries data (dos, partitions vdb1, vdb2)*' --disk "$DISK" "${args[@]}"
mkfs.ext4 -q "${DISK}2"
mount -o ro,noload "${DISK}2" "$WORK/mnt"
refused_always 'a mounted partition' '*vdb2 is mounted*' "${args[@]}"
umount "$WORK/mnt"

wipefs --all --quiet --force "$DISK"
blockdev --rereadpt "$DISK"
dmsetup create held --table "0 65536 linear $DISK 0"
refused_always 'device-mapper' '*vdb is held by dm-0*' "${args[@]}"
dmsetup remove held

exec 9<"$DISK"
python3 -c 'import os, sys, time
os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
time.sleep(1000)' "$DISK" &
holder=$!
sleep 1
refused_always 'claimed' '*vdb (*) is claimed*' "${args[@]}"
kill "$holder"
wait "$holder" || true
exec 9<&-

blockdev --setro "$DISK"
refused_always 'read-only' '*is read-only*' "${args[@]}"
blockdev --setrw "$DISK"

mkdir "$WORK/full"
touch "$WORK/full/precious"
refused 'a used run directory' '*/full is not empty; name a new one*' \
	--disk "$DISK" --out "$WORK/full" "${args[@]}"
refused 'a file as run directory' '*/precious: File exists; name another*' \
	--disk "$DISK" --out "$WORK/full/precious" "${args[@]}"

mkfs.ext4 -q "$DISK"
status=0
"$TREE/repro/run" journal-buffer --disk "$DISK" --wipe --out "$WORK/wiped" \
	--duration-s 1 "${args[@]}" || status=$?
expect 'wiped: status' "$status" 0
expect 'wiped: manifest' "$(manifest "$WORK/wiped" status)" complete
expect_nothing_left 'wiped'
verdict
