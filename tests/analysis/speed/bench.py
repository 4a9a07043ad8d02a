# SPDX-License-Identifier: GPL-2.0-only
"""bench: measure what the commands cost by the number of events.

Method: for each size a run is replayed from recorded ones (replay.py), and each command
reads it in a process of its own; user and system CPU seconds and wall time are the
kernel's (wait4). The peak of memory is that of the command and the processes it starts,
pages they share counted once: the larger of what wait4 says of the largest of them and
of what all of them held (Pss), looked at four times a second. Of the small sizes, the
least of three tries. `us/event` is CPU time by event; `growth` is that by the smallest
size's: 1.0 everywhere would be a straight line through zero, and less than 1 is the
start of the program, which many events share. A size this machine has no room for is
skipped, and the table says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import replay

# Commands, and the file of the run that each leaves, or reads beside the events.
COMMANDS = {
    "explain": "chains.json",
    "report": "report.html",
    "explain --report": "report.html",
    "check": "truth.jsonl",
}
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
TRIES, FEW_EVENTS = 3, 100_000
# Events and chains.json: what a run was seen to hold on disk.
DISK_BYTES_PER_EVENT = 2_000


LOOK_S = 0.25


class Cost(NamedTuple):
    """What one command took; `peak_bytes` is memory, of all its processes."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def cost(command: str, run: Path) -> Cost:
    """Runs `writestall COMMAND RUN` and waits for it; raises where it fails."""
    words = [sys.executable, "-m", "writestall", *command.split(), str(run)]
    began_s = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    ended = threading.Event()
    seen_bytes = [0]

    def look() -> None:
        while not ended.wait(LOOK_S):
            seen_bytes.append(held_bytes(child.pid))

    looking = threading.Thread(target=look)
    looking.start()
    _, status, used = os.wait4(child.pid, 0)
    wall_s = time.monotonic() - began_s
    ended.set()
    looking.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"bench: {' '.join(words)} ended with {child.returncode}")
    peak_bytes = max(used.ru_maxrss * 1024, *seen_bytes)
    return Cost(used.ru_utime + used.ru_stime, wall_s, peak_bytes)


def held_bytes(pid: int) -> int:
    """Memory of a process and those below it; 0 for one that has ended.

    Documentation/filesystems/proc.rst: smaps_rollup, Pss; task/TID/children.
    """
    folder = Path("/proc", str(pid))
    try:
        rollup = (folder / "smaps_rollup").read_text().splitlines()
        own = next(int(row.split()[1]) for row in rollup if row.startswith("Pss:"))
        tasks = [path.read_text() for path in folder.glob("task/*/children")]
    except (OSError, StopIteration):
        return 0
    return own * 1024 + sum(held_bytes(int(word)) for word in " ".join(tasks).split())


def available_bytes() -> int:
    """Memory that may be taken without swapping: MemAvailable of /proc/meminfo."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("bench: /proc/meminfo has no MemAvailable")


def no_room(events: int, folder: Path, peak_bytes_per_event: float) -> str | None:
    """What is short for so many events, None where nothing is."""
    wanted = {"disk": events * DISK_BYTES_PER_EVENT}
    wanted["memory"] = int(events * peak_bytes_per_event * 1.1)
    there = {"disk": shutil.disk_usage(folder).free, "memory": available_bytes()}
    for what, bytes_ in wanted.items():
        if bytes_ > there[what]:
            return f"{bytes_ / 1e9:.1f} GB of {what}, there are {there[what] / 1e9:.1f}"
    return None


def bench(sizes: list[int], folder: Path) -> None:
    """Print the table, row by row."""
    print(
        "| events | command | CPU s | wall s | peak MB | us/event | growth | file MB |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    first_us: dict[str, float] = {}
    peak_bytes_per_event = 0.0
    for events in sizes:
        if lack := no_room(events, folder, peak_bytes_per_event):
            print(f"| {events:,} | skipped: needs {lack} |", flush=True)
            continue
        run = replay.make(folder / str(events), events)
        peak_bytes = 0
        for command, left in COMMANDS.items():
            tries = TRIES if events <= FEW_EVENTS else 1
            best = min(cost(command, run) for _ in range(tries))
            each_us = best.cpu_s / events * 1e6
            growth = each_us / first_us.setdefault(command, each_us)
            file_mb = (run / left).stat().st_size / 1e6
            print(
                f"| {events:,} | {command} | {best.cpu_s:.2f} | {best.wall_s:.2f} "
                f"| {best.peak_bytes / 1e6:.0f} | {each_us:.1f} | {growth:.2f} "
                f"| {file_mb:.1f} |",
                flush=True,
            )
            peak_bytes = max(peak_bytes, best.peak_bytes)
        # Of few events, most is the program's own.
        peak_bytes_per_event = peak_bytes / events if events >= 1e6 else 0
        shutil.rmtree(run)


def main() -> None:
    """Reads the sizes and measures them in a folder that is gone afterwards."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, metavar="EVENTS")
    parser.add_argument("--folder", type=Path, help="where runs are made (TMPDIR)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bench(sorted(options.sizes), Path(folder))


if __name__ == "__main__":
    main()
