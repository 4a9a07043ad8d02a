# SPDX-License-Identifier: GPL-2.0-only
"""clients: run a workload program, and return its record and messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from jsonschema import Draft202012Validator

from support import PROJECT

# Ten writes of the default size.
GROWN_BYTES = 2000
HIGHEST_NS = 24 * 3600 * 10**9
Row = dict[str, Any]


def start(program: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [str(program), *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def write(
    program: Path, folder: Path, *arguments: object, expect: int = 0
) -> tuple[list[Row], str]:
    """Run to the end with all logs in `folder`; return the slow log and stderr."""
    logs = ["--hlog", folder / "w.hlog", "--hlog-service", folder / "s.hlog"]
    logs += ["--slow-log", folder / "w.jsonl"]
    writer = start(program, *logs, *arguments)
    _, said = writer.communicate(timeout=60)
    assert writer.returncode == expect, said
    return lines(folder / "w.jsonl"), said


def end_by(
    number: signal.Signals, grows: Path, program: Path, *arguments: object
) -> None:
    """Start it for a minute, and signal it once one of its files has grown; it must end
    in order."""
    running = start(program, "--duration-s", 60, *arguments)
    deadline_s = time.monotonic() + 30
    while not grows.exists() or grows.stat().st_size < GROWN_BYTES:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    running.send_signal(number)
    running.communicate(timeout=10)
    assert running.returncode == 128 + number


def _states(pid: int) -> set[str]:
    """The states of its threads, as letters of proc_pid_stat(5)."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


def hold_still(running: subprocess.Popen[str], hold_s: float) -> float:
    """Stop all its threads for this long; return the seconds that they were stopped."""
    running.send_signal(signal.SIGSTOP)
    while _states(running.pid) != {"T"}:  # each stops when it runs next
        time.sleep(0.001)
    stood_s = time.monotonic()
    time.sleep(hold_s)
    running.send_signal(signal.SIGCONT)
    return time.monotonic() - stood_s


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def of_kind(rows: list[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["ev"] == kind]


def histograms(path: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, HIGHEST_NS, 3))
    found = []
    while interval := reader.get_next_interval_histogram():
        found.append(interval)
    return found


def count(path: Path) -> int:
    return sum(histogram.get_total_count() for histogram in histograms(path))


def longest_ns(path: Path) -> float:
    return max(float(histogram.get_max_value()) for histogram in histograms(path))


def refused(program: Path, *arguments: object) -> str:
    """Bad usage: status 2, and this on stderr."""
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    return done.stderr


def keeps_the_contract(rows: list[Row]) -> None:
    """Check each line against docs/events.schema.json."""
    schema = json.loads((PROJECT / "docs/events.schema.json").read_text())
    validator = Draft202012Validator(schema)
    for row in rows:
        validator.validate(row)


def slow_pipe(path: Path, hold_s: float) -> tuple[Path, threading.Thread]:
    """A pipe that is read late: writes fill it and wait."""

    def read() -> None:
        with path.open("rb") as pipe:
            time.sleep(hold_s)
            while pipe.read(1 << 16):
                pass

    os.mkfifo(path)
    reader = threading.Thread(target=read)
    reader.start()
    return path, reader
