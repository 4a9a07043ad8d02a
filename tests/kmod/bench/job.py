# SPDX-License-Identifier: GPL-2.0-only
"""job: write 4 KiB blocks at random to a disk; return fio's log of each.

All measurements of the benchmark use this job.
"""

from __future__ import annotations

import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

FIO = (
    "fio --name=job --rw=randwrite --bs=4k --direct=1 --ioengine=psync --thread"
    # of the disk; that of scsi_debug has the same size
    " --size=64m --norandommap --output=/dev/null --log_offset=1 --log_issue_time=1"
).split()


def tool(*command: str | Path) -> None:
    """Run a command that must succeed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(words)}: {done.stderr.strip()}")


def _logged(disk: Path, writes: int) -> list[list[int]]:
    """The numbers of each line of fio's log of completion latencies."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        log = Path(folder, "job")
        job = (f"--filename={disk}", f"--number_ios={writes}", f"--write_lat_log={log}")
        tool(*FIO, *job)
        lines = Path(f"{log}_clat.1.log").read_text().splitlines()
    return [[int(word) for word in line.split(",")] for line in lines]


def latencies_ns(disk: Path, writes: int) -> list[int]:
    """The latency of each of these writes, ns."""
    return [line[1] for line in _logged(disk, writes)]


def intervals_ns(disk: Path, writes: int) -> list[int]:
    """The time from each write's issue to that of the next, ns: latency and fio's own
    time."""
    return [b[-1] - a[-1] for a, b in pairwise(_logged(disk, writes))]
