#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# jbd2-wait-on-shadow.sh: compare the waits of a tracepoint with those that writestall finds
#
# usage: jbd2-wait-on-shadow.sh KERNEL DIR
# KERNEL has jbd2-wait-on-shadow.patch, and is one that `lab --kernel` takes; DIR is new.
# DIR/run is the run, DIR/trace the events. Status 0: the sums agree within 5 %, 1: not.
set -eu
event=/sys/kernel/tracing/events/jbd2/jbd2_wait_on_shadow/enable
inside() { # in the machine: a run with the event on
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	echo 16384 >/sys/kernel/tracing/buffer_size_kb
	echo 1 >$event
	repro/run journal-buffer --engine core --disk /dev/vdb --build /mnt/build --wipe --out /mnt/out/run
	grep jbd2_wait_on_shadow: /sys/kernel/tracing/trace >/mnt/out/trace
}
case ${1:-} in
--inside)
	inside
	exit
	;;
"" | -*)
	echo "usage: $0 KERNEL DIR: a kernel with jbd2-wait-on-shadow.patch; a new folder"
	[ "${1:-}" = --help ] && exit 0
	exit 2
	;;
esac
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
mkdir "$2"
out=$(cd "$2" && pwd)
build=$(./writestall build --kernel "$1" | tail -n 1)
vm/vm run --kernel "$1" --share "$build:/mnt/build:ro" --share "$out:/mnt/out" \
	--excuse '\[biodelay\]' -- sh docs/reports/jbd2-wait-on-shadow.sh --inside
./writestall explain "$out/run" | head -n 1
exec python3 - "$out" <<'END'
import json, re, sys
out = sys.argv[1]
waits = [int(us) / 1000 for us in re.findall(r"latency\(us\) (\d+)", open(f"{out}/trace").read())]
print(f"the event: {len(waits)} waits, {sum(waits):.1f} ms")
def is_shadow(row):
    return row["ev"] == "block" and {"do_get_write_access", "bit_wait_io"} <= {
        frame.partition("+")[0] for frame in row["kstack"]}
rows = filter(is_shadow, map(json.loads, open(f"{out}/run/events/core.jsonl")))
slept = [(row["dur_ns"] + row["runq_ns"]) / 1e6 for row in rows]
print(f"the tracer: {len(slept)} sleeps, {sum(slept):.1f} ms with the run queue")
sys.exit(not waits or abs(sum(slept) - sum(waits)) > sum(waits) / 20)
END
