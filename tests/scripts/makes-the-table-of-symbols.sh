#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will make SystemTap find a function that it did not find, with the table
# that trace/system-map makes, and check that undoing it leaves nothing behind.
set -eu
tool=$(dirname "$0")/../../trace/system-map
map=/usr/lib/debug/boot/System.map-$(uname -r)

die() {
	echo "FAILED: $1" >&2
	exit 1
}

finds() {
	stap -p2 -e 'probe kprobe.function("vfs_write") { println(1) }' >/dev/null 2>&1
}

said() { # STATUS TEXT COMMAND...: it ends so, and says so in one line
	local status=0 text wanted=$1 part=$2
	shift 2
	text=$("$@" 2>&1) || status=$?
	[[ $status == "$wanted" && $text == *"$part"* && $text != *$'\n'* ]] ||
		die "$*: status $status: $text"
}

[[ ! -e /usr/lib/debug ]] || die "the image has a table of symbols already"
! finds || die "SystemTap finds vfs_write without a table"
said 1 "nothing to undo" "$tool" undo
said 1 "make or undo" "$tool"
said 1 "make or undo" "$tool" remove
said 0 " symbols; remove it with" "$tool" make
finds || die "SystemTap does not find vfs_write"
[[ $(stat --format=%a "$map" "${map%/*}") == $'600\n755' ]] || die "modes: $(ls -l "$map")"
said 0 "is there; nothing to do" "$tool" make
said 0 "is removed" "$tool" undo
[[ ! -e /usr/lib/debug ]] || die "left behind: $(find /usr/lib/debug)"

# A table made by others is left alone.
mkdir --parents "${map%/*}"
echo theirs >"$map"
said 0 "is there; nothing to do" "$tool" make
said 1 "nothing to undo" "$tool" undo
[[ $(<"$map") == theirs ]] || die "another's table was changed"
rm --recursive /usr/lib/debug

mode=$(<"/proc/sys/kernel/kptr_restrict")
echo 2 >/proc/sys/kernel/kptr_restrict
said 1 "kernel.kptr_restrict" "$tool" make
echo "$mode" >/proc/sys/kernel/kptr_restrict
[[ ! -e /usr/lib/debug ]] || die "left behind a refusal: $(find /usr/lib/debug)"
