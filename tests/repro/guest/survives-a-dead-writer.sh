#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will kill the writer during a run, and check that the run fails, names it,
# and leaves nothing behind.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

status=0
"$TREE/repro/run" journal-buffer --disk "$DISK" --wipe --out "$WORK/run" \
	--duration-s 60 --progress json "$@" 2>"$WORK/progress" &
run=$!
wait_for_line "$WORK/progress" '"step": "write", "status": "begin"' || true
sleep 2
kill -KILL "$(pgrep --exact latwriter)"
wait "$run" || status=$?
say "$(tail --lines 1 "$WORK/progress")"
expect 'status' "$status" 1
expect 'manifest' "$(manifest "$WORK/run" status)" failed
expect 'exit status of the writer' \
	"$(manifest "$WORK/run" writer exit_status)" -9
expect_match 'reason' "$(manifest "$WORK/run" reason)" \
	'write: writer gc: killed by SIGKILL*'
expect_nothing_left 'a dead writer'
verdict
