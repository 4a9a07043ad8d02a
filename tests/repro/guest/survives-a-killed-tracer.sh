#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will kill a tracer during a run, its wrapper and its worker in turn, and
# check that the run fails at once, names it, and leaves nothing behind.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

# killed ENGINE PATTERN ARGUMENT...: kill -9 what matches while the writer writes
killed() {
	local engine=$1 pattern=$2 status=0 run="$WORK/$1-${RANDOM}" victim started
	shift 2
	say "killing '$pattern' of $engine"
	"$TREE/repro/run" journal-buffer --disk "$DISK" --wipe --out "$run" \
		--duration-s 60 --progress json "$@" --engine "$engine" \
		2>"$WORK/progress" &
	started=$!
	wait_for_line "$WORK/progress" '"step": "write", "status": "begin"' || true
	sleep 1
	victim=$(pgrep --oldest --full "$pattern") || failed "no process '$pattern'"
	SECONDS=0
	kill -KILL "$victim"
	wait "$started" || status=$?
	say "$(tail --lines 1 "$WORK/progress")"
	expect "$engine: status" "$status" 1
	expect "$engine: manifest" "$(manifest "$run" status)" failed
	expect_match "$engine: reason" "$(manifest "$run" reason)" \
		"*tracer $engine*"
	((SECONDS < 50)) || failed "$engine: the run went on for $SECONDS s"
	expect_nothing_left "$engine"
}

# The launcher and the engine's process: the death of either ends the run.
killed stap 'trace/trace --engine stap' "$@"
killed stap 'stapio' "$@"
killed core 'trace/trace --engine core' "$@"
killed core '^/[^ ]*/stalled-writes ' "$@"
verdict
