#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will inspect a held jbd2 thread: state D, and below the module's frames the
# real chain of callers.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

mounted
insmod "$module" device="$disk_name" submitter='jbd2/*' delay_us=2000000 enabled=1
echo hello >"$mount_point/file"
until [[ $(status in_flight) == 1 ]]; do sleep 0.1; done
pid=$(pgrep --exact "jbd2/$disk_name-8")
stack=$(cat "/proc/$pid/stack")
state=$(awk '$1 == "State:" { print $2 }' "/proc/$pid/status")
[[ $(status in_flight) == 1 ]] || fail "looked too late"
[[ $state == D ]] || fail "held in state $state"
for function in biodelay_entry jbd2_journal_commit_transaction kjournald2 kthread; do
	grep --quiet " ${function}+\|\] ${function}+" <<<"$stack" ||
		fail "no $function in: $stack"
done
