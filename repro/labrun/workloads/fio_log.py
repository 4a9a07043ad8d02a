# SPDX-License-Identifier: GPL-2.0-only
"""fio_log: parse the output and the latency logs of fio.

fio's completion latency log has a line per I/O: completion in ms, latency in ns,
direction (1 writes), bytes, offset, priority, issue in ns since the job's epoch
(fio's HOWTO, "Log File Formats", with log_offset and log_issue_time). Its JSON has
each job's epoch in ms of CLOCK_MONOTONIC, so that times are accurate to 1 ms, and
durations to 1 ns. Only its normal output has the PIDs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from writestall_base.errors import StepError
from writestall_base.units import MS_NS, US_NS

WRITE = 1
# The system call that an engine writes with (fio's engines/sync.c).
CALLS = {"sync": "write", "psync": "pwrite64"}
PID = re.compile(r"^[^\s{].*\(groupid=\d+, jobs=1\): .*\bpid=(\d+):", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """One write; times CLOCK_MONOTONIC."""

    seq: int
    intended_ns: int
    t_ns: int
    dur_ns: int
    offset: int
    bytes: int

    @property
    def latency_ns(self) -> int:
        """Latency from the intended start; fio may start a tick early."""
        return max(self.t_ns + self.dur_ns - self.intended_ns, self.dur_ns)


@dataclass(frozen=True)
class Job:
    """A process of fio and its writes, in order."""

    tid: int
    call: str
    calls: tuple[Call, ...]


def read(said: str, logs: list[Path], interval_us: int) -> list[Job]:
    """Parse fio's output and the log of each job, in order."""
    result = _json(said)
    pids = [int(pid) for pid in PID.findall(said)]
    if not len(pids) == len(logs) == len(result["jobs"]):
        raise StepError(
            f"fio names {len(pids)} processes, {len(result['jobs'])} jobs and wrote"
            f" {len(logs)} logs; want as many of each: no group_reporting, no threads"
        )
    jobs = []
    for row, pid, path in zip(result["jobs"], pids, logs, strict=True):
        options = result.get("global options", {}) | row.get("job options", {})
        engine = options.get("ioengine", "psync")
        if engine not in CALLS:
            raise StepError(f"ioengine {engine}: want {' or '.join(CALLS)}")
        epoch_ns = row["job_start"] * MS_NS
        calls = _calls(path, epoch_ns, interval_us * US_NS)
        jobs.append(Job(pid, CALLS[engine], calls))
    return jobs


def _json(said: str) -> dict[str, Any]:
    """Parse fio's JSON, which is between other lines."""
    start, end = said.find("\n{\n"), said.find("\n}\n")
    try:
        found = json.loads(said[start : end + 3])
        return dict(found, jobs=list(found["jobs"]))
    except (ValueError, LookupError, TypeError):
        raise StepError(f"no JSON in fio's output; {complaint(said)}") from None


def complaint(said: str) -> str:
    """Return the line of fio's output that describes the error."""
    lines = [line for line in said.splitlines() if line.startswith("fio: ")]
    return (lines or said.strip().splitlines() or ["it printed nothing"])[-1]


def _calls(path: Path, epoch_ns: int, interval_ns: int) -> tuple[Call, ...]:
    found: list[Call] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            _, dur_ns, direction, size, offset, _, issue_ns = map(int, line.split(","))
        except ValueError:
            raise StepError(
                f"{path.name}:{number}: not a line of fio's log: {line}"
            ) from None
        if direction == WRITE:
            seq = len(found)
            intended_ns = epoch_ns + seq * interval_ns
            began_ns = epoch_ns + issue_ns
            found.append(Call(seq, intended_ns, began_ns, dur_ns, offset, size))
    return tuple(found)
