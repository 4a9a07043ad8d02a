#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# beside.sh: run a lesson beside the workload and the slow disk of a scenario
#
# usage: docs/course/beside.sh SCENARIO COMMAND...    as root, in a throwaway machine
# example: docs/course/beside.sh page-lock bpftrace -B line FILE
# -B line: bpftrace prints each line at once, to a pipe too. COMMAND gets Ctrl-C when the
# scenario is over; no other tracer runs. The injector and the writer are those of
# BUILD (/mnt/build, where writestall vm --built has them); elsewhere they are compiled,
# which takes an emulated machine many minutes. INJECTOR names another injector
# that the scenario has, such as dm-delay. stap gets the table of symbols and the build
# tree that it needs, and the lessons that writestall vm --lessons has compiled.
set -eu
[[ $# -gt 1 ]] || {
	echo "beside.sh: which scenario, and which command?" >&2
	exit 2
}
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-/mnt/build} scenario=$1 printed=$(mktemp)
shift

if [[ ! -e $build/biodelay.ko ]]; then
	echo "beside.sh: no injector in $build: compiling it" >&2
	build=$(mktemp --directory)
	make --silent --directory="$tree/repro" BUILD="$build"
	cp --recursive "$tree/kmod" "$build"
	make --silent --directory="$build/kmod" KDIR="/lib/modules/$(uname -r)/build"
	mv "$build/kmod/biodelay.ko" "$build"
fi
if [[ $1 == stap ]]; then
	"$tree/trace/system-map" make >&2
	if [[ -e $build/plain.tar ]]; then # tests/scripts/plain-cache.sh made it
		tar --extract --file "$build/plain.tar" --directory /
		export SYSTEMTAP_DIR=/tmp/systemtap SYSTEMTAP_RUNTIME=/tmp/runtime
	fi
	SYSTEMTAP_RELEASE=$("$tree/trace/build-tree")
	export SYSTEMTAP_RELEASE
fi
"$@" > >(tee "$printed") &
lesson=$!
trap 'kill -INT "$lesson" && wait "$lesson"' EXIT
until grep --quiet 'stop with Ctrl-C' "$printed"; do
	kill -0 "$lesson"
	sleep 0.2
done
out=$(mktemp --directory)
"$tree/repro/run" "$scenario" --engine none --injector "${INJECTOR:-biodelay}" \
	--build "$build" --disk /dev/vdb --journal-disk /dev/sda --wipe \
	--out "$out/run" >/dev/null
