#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will let the kernel log complain in mid-run, and see that the run,
# good in all else, is failed by that line and keeps the log.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

status=0
"$TREE/repro/run" journal-buffer --disk "$DISK" --wipe --out "$WORK/run" \
	--duration-s 4 --progress json "$@" --engine none 2>"$WORK/progress" &
run=$!
wait_for_line "$WORK/progress" '"step": "write", "status": "begin"' || true
# Debug level: the log holds it, the machine's console does not show it.
echo '<7>WARNING: told by a test' >/dev/kmsg
wait "$run" || status=$?
say "$(tail --lines 1 "$WORK/progress")"
expect 'status' "$status" 1
expect_match 'reason' "$(manifest "$WORK/run" reason)" \
	'kernel-log-save: the kernel complained: *WARNING: told by a test'
grep --quiet 'WARNING: told by a test' "$WORK/run/kernel.log" ||
	failed 'kernel.log does not hold the line'
expect_nothing_left 'a kernel complaint'
verdict
