#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will make rules and open the module's files while loads of it are failing, in
# a build that pauses before they fail (kmod/Kbuild, PAUSE_MS), and show that neither is
# possible: a failed load is freed, whatever uses it.
# expects: biodelay: no device: set device=
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"
module=${module%/*}/pause/${module##*/}

entered() { # whether a rule was made or a file opened; what was opened stays open
	mkdir "$rules/entered" || { exec 9<"$debugfs/record"; } || { exec 8<"$debugfs/status"; }
} 2>/dev/null

for ((turn = 0; turn < 4; turn++)); do
	insmod "$module" enabled=1 2>/dev/null &
	loading=$!
	tries=0
	while kill -0 "$loading" 2>/dev/null; do
		! loaded || tries=$((tries + 1))
		! entered || fail "entered a load that fails, at try $tries"
	done
	! wait "$loading" || fail "loaded"
	((tries > 0)) || fail "not tried while the load paused"
	! loaded || fail "is still there"
	echo "not entered in $tries tries"
done
