#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# each.sh: run commands one after another on this machine, with a verdict on each
#
# each.sh FOLDER LIMIT_S COMMAND...: each COMMAND is one word that the shell reads.
# FOLDER/N.out holds what the Nth printed, FOLDER/N.status its status and the seconds it
# took; the kernel log says where it began. What follows a failure gets a machine of its
# own: none runs where another may have left something.
set -u
folder=$1
limit_s=$2
shift 2

# A kernel that checks itself looks for memory that nothing points at any more. What is
# found must be 5 s old and unchanged since the scan before (mm/kmemleak.c).
leaks=/sys/kernel/debug/kmemleak
scan() { # to the output of the last command
	[[ -e $leaks ]] || return 0
	sleep 6
	for _ in 1 2; do
		echo scan >"$leaks"
	done
	cat "$leaks" >>"$folder/$((number > 0 ? number - 1 : 0)).out"
}
trap scan EXIT

tuned=(/proc/sys/vm/dirty_writeback_centisecs /proc/sys/vm/dirty_expire_centisecs)
before=("$(<"${tuned[0]}")" "$(<"${tuned[1]}")")

number=0
for command; do
	echo "<5>each: $number begins" >/dev/kmsg
	SECONDS=0
	timeout --kill-after=30 "$limit_s" bash -c "$command" \
		>"$folder/$number.out" 2>&1 </dev/null
	status=$?
	echo "$status $SECONDS" >"$folder/$number.status"
	number=$((number + 1))
	[[ $status == 0 ]] || exit "$status"
	for i in "${!tuned[@]}"; do
		echo "${before[i]}" >"${tuned[i]}"
	done
done
