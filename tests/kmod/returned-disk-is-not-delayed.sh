#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will delete a disk that a rule is armed for, let a disk of the same number
# come, and show that its bios are not delayed, but counted, until it is named again.
# expects: biodelay: device sda: its number is that of another disk now
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

other=/dev/sda
read_once() { dd if="$other" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; }

insmod "$module"
rule r device=sda delay_us=1000 ops=read enabled=1
read_once
delayed=$(status r.delayed)
((delayed > 0)) || fail "not delayed"
number=$(<"/sys/block/sda/dev")
host=$(readlink --canonicalize /sys/block/sda/device/../..)
echo 1 >/sys/block/sda/device/delete
for scan in "$host"/scsi_host/host*/scan; do
	echo "- - -" >"$scan"
done
until [[ -b $other ]]; do sleep 0.1; done
[[ $(</sys/block/sda/dev) == "$number" ]] || fail "it has another number"

read_once
[[ $(status r.delayed) == "$delayed" ]] || fail "another disk was delayed"
(($(status r.refused_replaced) > 0)) || fail "not counted"
rule r enabled=0
! echo 1 2>/dev/null >"$rules/r/enabled" || fail "armed for another disk"
rule r device=sda enabled=1
read_once
(($(status r.delayed) > delayed)) || fail "not delayed although named again"
