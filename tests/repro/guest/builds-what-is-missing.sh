#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will run a scenario from a fresh copy of the tree without compiled files, as
# on a lab machine, and check that the writer is built, used and kept; then break its
# source, and check that the compiler's message is printed and nothing is changed.
set -eu
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"

# Without a rule only the writer is needed: compiling the kernel module takes an
# emulated machine minutes.
mkdir "$WORK/tree"
cp --recursive "$TREE/base" "$TREE/repro" "$WORK/tree/"
sed --expression 's/^name = "journal-buffer"/name = "calm"/' \
	--expression '/^\[\[inject\]\]/,/^$/d' \
	"$TREE/repro/scenarios/journal-buffer.toml" >"$WORK/calm.toml"
built=$WORK/tree/build/$(uname --kernel-release)/latwriter

run_calm() {
	"$WORK/tree/repro/run" "$WORK/calm.toml" --disk "$DISK" --wipe \
		--engine none --duration-s 1 --out "$1" 2>&1
}

status=0
said=$(run_calm "$WORK/first") || status=$?
say "$said"
expect 'status' "$status" 0
expect 'manifest' "$(manifest "$WORK/first" status)" complete
expect_match 'what is said' "$said" "building $built*"
[[ -x $built ]] || failed 'the writer was not kept'
expect_nothing_left 'built in place'

said=$(run_calm "$WORK/second") || status=$?
expect 'built already: status' "$status" 0
[[ $said != *building* ]] || failed 'built again what was there'

rm "$built"
echo '#include "nothing.h"' >"$WORK/tree/repro/latwriter/latwriter.c"
status=0
said=$(run_calm "$WORK/third") || status=$?
say "$said"
expect 'a broken source: status' "$status" 2
expect_match 'a broken source: message' "$said" \
	'*latwriter was not built: *fatal error: nothing.h: *'
[[ ! -e $WORK/third ]] || failed 'a broken source: left a run directory'
expect_nothing_left 'a broken source'
verdict
