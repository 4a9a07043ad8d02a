#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will show, on a zoned disk, that mode defer is refused when a rule is armed,
# and when an armed rule is changed to it; and that a zone reset is an operation of the
# kind other, which a rule for other delays and one for writes does not.
# expects: biodelay: mode=defer: .* is zoned
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

modprobe null_blk zoned=1 zone_size=16 gb=1
trap 'cleanup; modprobe -r null_blk' EXIT
zoned=/dev/nullb0
insmod "$module"

refused() { # ATTRIBUTE=WORDS WANT: what writing it says
	local said
	said=$(bash -c "echo ${1#*=} >$rules/r/${1%%=*}" 2>&1) && fail "took $1"
	[[ $said == *"$2"* ]] || fail "$1: $said"
}

reset_zone() { # the first one: BLKRESETZONE of linux/blkzoned.h
	python3 -c '
import fcntl, struct, sys
with open(sys.argv[1], "r+b") as disk:
    fcntl.ioctl(disk, 0x40101283, struct.pack("QQ", 0, 32768))
' "$zoned"
}

delayed() { # COMMAND...: how many of its bios
	local before
	before=$(status r.delayed)
	"$@" >/dev/null
	echo $(($(status r.delayed) - before))
}

rule r device=nullb0 delay=1000 mode=defer
refused enabled=1 "cross-device" # EXDEV
for mode in sleep spin; do
	rule r mode="$mode" ops=other enabled=1
	refused mode=defer "cross-device"
	[[ $(delayed reset_zone) == 1 ]] ||
		fail "$mode: a reset is not other"
	[[ $(delayed dd if="$zoned" of=/dev/null bs=4k count=1 iflag=direct status=none) == 0 ]] ||
		fail "$mode: a read is other"
	rule r ops=read,write,flush,discard,zeroes
	[[ $(delayed reset_zone) == 0 ]] ||
		fail "$mode: a reset is something else than other"
	rule r enabled=0
done
rmdir "$rules/r"
