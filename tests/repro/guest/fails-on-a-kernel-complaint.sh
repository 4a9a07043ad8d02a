#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will write a complaint to the kernel log during a run, and check that the
# run, otherwise good, fails because of that line and keeps the log.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

status=0
"$TREE/repro/run" journal-buffer --disk "$DISK" --wipe --out "$WORK/run" \
	--duration-s 4 --progress json "$@" --engine none 2>"$WORK/progress" &
run=$!
wait_for_line "$WORK/progress" '"step": "write", "status": "begin"' || true
# Debug level: the line is in the log but not on the machine's console.
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
