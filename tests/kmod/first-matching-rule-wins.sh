#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will create several rules in configfs and show that the one with the lowest
# order that matches a bio delays it, and no other; that order, delay and enabled may
# change at any time; and that each rule has its own counters.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
rule reads device="$disk_name" ops=read delay=2000000 order=20 enabled=1
rule all device="$disk_name" delay=1000000 order=30 enabled=1
rule first device="$disk_name" ops=read delay=3000000 order=10

delayed_by() { # read|write: the rule that delays one such bio
	record >/dev/null
	if [[ $1 == read ]]; then
		dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
	else
		dd if=/dev/zero of="$disk" bs=4k count=1 oflag=direct 2>/dev/null
	fi
	record | sed 's/.*"rule":"\([^"]*\)".*/\1/'
}

expect() { # read|write RULE
	local by
	by=$(delayed_by "$1")
	[[ $by == "$2" ]] || fail "a $1 was delayed by '$by', not '$2'"
}

expect read reads
expect write all
rule first enabled=1
expect read first
rule first order=25
expect read reads
rule reads enabled=0
expect read first
rule first ops=discard
expect read all
rule all enabled=0
expect read ""
rule first ops=read mode=defer delay=4000000
expect read first
[[ $(status first.delayed) == 3 ]] || fail "first counted $(status first.delayed)"
[[ $(status reads.delayed) == 2 ]] || fail "reads counted $(status reads.delayed)"
[[ $(status delayed) == 7 ]] || fail "in all $(status delayed)"
[[ $(status armed) == 1 && $(status rules) == 4 ]] || fail "armed $(status armed)"

if rmmod biodelay 2>/dev/null; then
	fail "unloaded with rules in configfs"
fi
rmdir "$rules"/*/
rmmod biodelay
