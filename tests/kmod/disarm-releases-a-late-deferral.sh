#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will disarm a rule between its claim of a bio and the deferral of that bio,
# for 20 s, in a build that pauses there (kmod/Kbuild, PAUSE_MS), and show that the bio is
# submitted at once, from an empty queue and from one that holds another bio.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"
module=${module%/*}/pause/${module##*/}

# Not on the CPU of the rule's thread: there the pause would keep the thread, too.
read_once() { taskset --cpu-list 1 dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null; }

insmod "$module" device="$disk_name" delay_us=20000000 ops=read mode=defer
for queued in 0 1; do
	echo 1 >"$params/enabled"
	taskset --pid --cpu-list 0 "$(pgrep --exact biodelay/param)" >/dev/null
	pids=()
	for ((number = 0; number <= queued; number++)); do
		read_once &
		pids+=("$!")
		until [[ $(status in_flight) == $((number + 1)) ]]; do sleep 0.01; done
		((number == queued)) || sleep 1 # past its pause: it is in the queue
	done
	start=$(now_ms)
	echo 0 >"$params/enabled"
	took=$(($(now_ms) - start))
	for pid in "${pids[@]}"; do
		check "a deferred read failed" wait "$pid"
	done
	echo "disarmed in $took ms with $queued queued"
	# The pause ends first; it began less than its length ago.
	((took < 5000)) || fail "the disarm took $took ms with $queued queued"
	[[ $(status in_flight) == 0 ]] || fail "still holding"
done
