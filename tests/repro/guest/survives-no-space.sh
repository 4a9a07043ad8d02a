#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will let first the scratch disk, then the run directory run out of space,
# and check that each is reported in one line and nothing is left behind.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

# run_out WHAT DISK OUT ARGUMENT...: a run that must fail for want of space
run_out() {
	local what=$1 disk=$2 out=$3 status=0
	shift 3
	"$TREE/repro/run" "$WORK/fast.toml" --disk "$disk" --wipe --out "$out" \
		"$@" 2>"$WORK/said" || status=$?
	say "$what: $(tail --lines 1 "$WORK/said")"
	expect "$what: status" "$status" 1
	expect_match "$what: last line" "$(tail --lines 1 "$WORK/said")" \
		'repro/run: failed (*No space left on device*): *'
	expect "$what: manifest" "$(manifest "$out" status)" failed
	expect_nothing_left "$what"
}

sed --expression 's/^name = "journal-buffer"/name = "fast"/' \
	--expression 's/^write_bytes = .*/write_bytes = 65536/' \
	"$TREE/repro/scenarios/journal-buffer.toml" >"$WORK/fast.toml"

# shellcheck disable=SC2153 # DISK is lib.sh's
dmsetup create small --table "0 65536 linear $DISK 0"
dmsetup mknodes
run_out 'scratch disk' /dev/mapper/small "$WORK/disk" "$@"
expect_match 'reason' "$(manifest "$WORK/disk" reason)" \
	'write: writer gc: exit 1; write */lab/gc.log: No space*'
dmsetup remove small

mkdir "$WORK/tiny"
mount -t tmpfs -o size=256K tmpfs "$WORK/tiny"
run_out 'run directory' "$DISK" "$WORK/tiny/run" --duration-s 2 "$@"
verdict
