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

# What a kernel that checks itself has found, or why it no longer looks, becomes a line of
# level warning, and so part of the verdict. kmemleak tells at level info: what is found
# must be 5 s old and unchanged since the scan before (mm/kmemleak.c). lockdep ends with
# its first report, or when its tables are full (kernel/locking/lockdep.c).
leaks=/sys/kernel/debug/kmemleak
locks=/proc/lockdep_stats
checkers() { # to the output of the last command
	if [[ -e $locks ]] && ! grep --quiet --extended-regexp 'debug_locks: +1' "$locks"; then
		echo "<4>each: lockdep is off" >/dev/kmsg
	fi
	[[ -e $leaks ]] || return 0
	sleep 6
	for _ in 1 2; do
		echo scan >"$leaks"
	done
	local found
	found=$(cat "$leaks")
	[[ -n $found ]] || return 0
	echo "$found" >>"$folder/$((number > 0 ? number - 1 : 0)).out"
	echo "<4>each: kmemleak found something" >/dev/kmsg
}
trap checkers EXIT

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
