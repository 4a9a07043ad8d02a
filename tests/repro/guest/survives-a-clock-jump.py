#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will set the machine's clock an hour ahead and a day back while a run
writes, and check that the run takes its seconds, is complete, and measured no delay but
those of its rules.

Arguments go to repro/run: --build DIR.
"""

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from every_step import start, write_scenario
from traces_of_a_run import leftovers, settings

HOUR_S = 3600.0
JUMPS_S = (HOUR_S, -25 * HOUR_S, 24 * HOUR_S)
LONGEST_NS = 10_000_000_000  # of a write: a third of the time that the run may take


def jump(stop: threading.Event) -> None:
    """Set the clock, again and again; in the end it stands right."""
    while not stop.wait(1.0):
        for seconds in JUMPS_S:
            time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
            time.sleep(0.3)


def main() -> None:
    folder, before = Path(tempfile.mkdtemp(prefix="test-")), settings()
    write_scenario(folder, "on-disk")
    out, stop = folder / "run", threading.Event()
    jumper = threading.Thread(target=jump, args=(stop,))
    start_ns = time.monotonic_ns()
    running = start(out, sys.argv[1:])
    jumper.start()
    _, said = running.communicate(timeout=120)
    stop.set()
    jumper.join()
    took_s = (time.monotonic_ns() - start_ns) / 1e9
    assert running.returncode == 0, said[-2000:]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "complete", manifest["reason"]
    slow = [
        json.loads(line) for line in (out / "writer.jsonl").read_text().splitlines()
    ]
    longest_ns = max((row.get("dur_ns", 0) for row in slow), default=0)
    assert longest_ns < LONGEST_NS, f"a write of {longest_ns} ns"
    assert not leftovers(before), leftovers(before)
    print(f"the run took {took_s:.0f} s; its slowest write {longest_ns / 1e6:.0f} ms")


main()
