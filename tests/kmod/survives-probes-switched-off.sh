#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will switch all kprobes off while bios are held, and show that they are
# submitted when they are due, that the module unloads, and that it works again.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

switch=/sys/kernel/debug/kprobes/enabled
for mode in sleep defer; do
	insmod "$module" device="$disk_name" ops=read mode="$mode" delay_us=1500000 \
		enabled=1
	dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null &
	writer_pid=$!
	until [[ $(status in_flight) == 1 ]]; do sleep 0.01; done
	echo 0 >"$switch"
	check "the held task failed" wait "$writer_pid"
	writer_pid=
	[[ $(status delayed) == 1 ]] || fail "$mode: not delayed"
	dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
	[[ $(status delayed) == 1 ]] || fail "$mode: the probe works, switched off"
	rmmod biodelay
	echo 1 >"$switch"
	insmod "$module" device="$disk_name" ops=read mode="$mode" delay_us=1000 enabled=1
	dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
	[[ $(status delayed) == 1 ]] || fail "$mode: does not work any more"
	rmmod biodelay
done
