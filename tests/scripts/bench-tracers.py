#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bench-tracers: what each tracer leaves of the throughput of 200-byte writes.

Runs inside a guest, alternating no tracer and each tracer for some rounds.
Prints JSON: the time of a chunk of writes (the fastest tenth: what a busy host
takes away only ever adds), and the throughput as a share of the untraced one
of the same round; medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import lab

# An engine loads symbols when it prints its first stack, on processors it shares
# with the writer; what it costs from then on is the question.
SETTLE_S = 8
CHUNKS = 400
WRITES = 1000
FASTEST = CHUNKS // 10
SOURCE = Path(__file__).with_name("writeloop.c")
NONE = "none"


def build(folder: Path) -> Path:
    program = folder / "writeloop"
    lab.run("gcc", "-O2", "-o", program, SOURCE)
    return program


def chunk_ns(program: Path) -> float:
    """Time of a chunk of writes, the slowest of the fastest tenth."""
    path = lab.MOUNT / "bench.log"
    told = lab.run(program, path, str(CHUNKS), str(WRITES))
    return sorted(int(line) for line in told.split())[FASTEST]


def measure(program: Path, arm: str, modules: Path) -> float:
    """One arm: NONE, or ENGINE:SCRIPT."""
    with ExitStack() as stack:
        if arm != NONE:
            engine, _, script = arm.partition(":")
            (tracer,) = stack.enter_context(
                lab.tracing(modules, (engine,), script=script)
            )
            tracer.wait_armed()
            (lab.MOUNT / "event").write_bytes(b"x")
            lab.run("sync", lab.MOUNT / "event")
            time.sleep(SETTLE_S)
        return chunk_ns(program)


def table(rounds: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Per arm the median chunk time and the median share of the untraced rate."""
    return {
        arm: {
            "chunk_ms": round(statistics.median(r[arm] for r in rounds) / 1e6, 3),
            "share": round(statistics.median(r[NONE] / r[arm] for r in rounds), 3),
            "lowest": round(min(r[NONE] / r[arm] for r in rounds), 3),
            "highest": round(max(r[NONE] / r[arm] for r in rounds), 3),
        }
        for arm in rounds[0]
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("arms", nargs="+", metavar="ENGINE:SCRIPT")
    options = parser.parse_args()
    with lab.disk():
        program = build(Path("/tmp"))
        chunk_ns(program)  # allocates the file's blocks
        rounds = []
        for _ in range(options.rounds):
            # a second untraced arm shows how much is noise
            arms = [NONE, *options.arms, "none again"]
            rounds.append(
                {
                    arm: measure(
                        program, NONE if "none" in arm else arm, options.modules
                    )
                    for arm in arms
                }
            )
            print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
    result = {"kernel": os.uname().release, "arms": table(rounds)}
    print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (lab.FoundError, subprocess.SubprocessError) as error:
        print(f"bench-tracers: {error}", file=sys.stderr)
        sys.exit(1)
