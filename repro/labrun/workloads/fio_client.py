# SPDX-License-Identifier: GPL-2.0-only
"""fio_client: run a fio job with the options and the record of the other clients.

fio follows a schedule (rate_iops, linear: it catches up after a stall), so the latency
of each write from its intended start is known. The job file has the pattern; size,
schedule, file and logs are options.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any

from labrun.workloads import fio_log, hdr
from labrun.workloads.fio_log import Call, Job
from writestall_base.command_line import Parser
from writestall_base.errors import EXIT_COMPLETE, StepError
from writestall_base.progress import say
from writestall_base.units import US_NS

SECOND_US = 1_000_000
MONOTONIC = time.CLOCK_MONOTONIC


def parser() -> Parser:
    """The options of latwriter, and the job."""
    options = Parser("fio-client", "Run a fio job as a client: fio writes, we record.")
    for name in ("job", "path", "hlog", "hlog-service", "slow-log"):
        options.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    for name in ("bytes", "interval-us", "duration-s", "slow-us", "seed"):
        options.add_argument(f"--{name}", type=int, required=True, metavar="N")
    return options


def stem(asked: argparse.Namespace) -> Path:
    """Return the stem of fio's own files, next to the record."""
    hlog: Path = asked.hlog
    return hlog.with_name(f"{hlog.stem}-fio")


def command(asked: argparse.Namespace) -> list[str]:
    """Return fio's command line; options before the job file apply to all jobs."""
    settings = {
        "output": f"{stem(asked)}.out",
        "output-format": "normal,json",
        "filename": asked.path,
        "bs": asked.bytes,
        "rate_iops": SECOND_US // asked.interval_us,
        "runtime": asked.duration_s,
        "time_based": 1,
        "randseed": asked.seed,
        "write_lat_log": stem(asked),
        "disable_slat": 1,
        "disable_lat": 1,
        "log_avg_msec": 0,
        "log_offset": 1,
        "log_issue_time": 1,
        "job_start_clock_id": MONOTONIC,
        "log_alternate_epoch": 1,
        "log_alternate_epoch_clock_id": MONOTONIC,
    }
    return [
        "fio",
        *(f"--{name}={value}" for name, value in settings.items()),
        asked.job,
    ]


def carried_out(argv: list[str]) -> tuple[int, int]:
    """Run fio; return its status and the number of a forwarded signal, or 0."""
    caught = 0
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as fio:

        def forward(number: int, _: FrameType | None) -> None:
            nonlocal caught
            caught = number
            fio.send_signal(signal.SIGINT)  # fio ends its jobs and reports

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, forward)
        return fio.wait(), caught


def rows(jobs: list[Job], asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the lines of writer.jsonl (docs/events.md).

    fio ends at the first write that fails or comes up short.
    """
    planned = len(jobs) * asked.duration_s * SECOND_US // asked.interval_us
    calls = [call for job in jobs for call in job.calls]
    yield {
        "ev": "begin",
        "t_ns": min(call.intended_ns for call in calls),
        "interval_ns": asked.interval_us * US_NS,
        "bytes": asked.bytes,
        "writers": len(jobs),
    }
    for job in jobs:
        for call in filter(lambda call: _slow(call, asked), job.calls):
            yield _row(job, call, asked.path)
    yield {
        "ev": "end",
        "t_ns": max(call.t_ns + call.dur_ns for call in calls),
        "writes": len(calls),
        "slow": sum(_slow(call, asked) for call in calls),
        "missed": max(planned - len(calls), 0),
        "failed": 0,
        "short": 0,
        "late_ns": sum(map(_late_ns, jobs)),
    }


def _slow(call: Call, asked: argparse.Namespace) -> bool:
    return bool(call.dur_ns >= asked.slow_us * US_NS)


def _row(job: Job, call: Call, path: Path) -> dict[str, Any]:
    return {
        "ev": "client_write",
        "seq": call.seq,
        "intended_ns": call.intended_ns,
        "t_ns": call.t_ns,
        "dur_ns": call.dur_ns,
        "tid": job.tid,
        "call": job.call,
        "path": f"{path.parent.name}/{path.name}",
        "offset": call.offset,
        "bytes": call.bytes,
        "ret": call.bytes,
    }


def _late_ns(job: Job) -> int:
    """Return the sum of the delays between a possible and the actual start."""
    late_ns = free_ns = 0
    for call in job.calls:
        late_ns += max(call.t_ns - max(call.intended_ns, free_ns), 0)
        free_ns = call.t_ns + call.dur_ns
    return late_ns


def save(jobs: list[Job], asked: argparse.Namespace) -> str:
    """Write the record; return its counts in one line."""
    calls = [call for job in jobs for call in job.calls]
    lines = list(rows(jobs, asked))
    for path, what, name in (
        (asked.hlog, "from the intended start", "latency_ns"),
        (asked.hlog_service, "of the call", "dur_ns"),
    ):
        pairs = map(attrgetter("intended_ns", name), calls)
        path.write_text(hdr.log(f"fio: ns {what}", lines[0]["t_ns"], pairs))
    asked.slow_log.write_text("".join(f"{json.dumps(row)}\n" for row in lines))
    end, slowest_ns = lines[-1], max(call.dur_ns for call in calls)
    return (
        f"{end['writes']} of {end['writes'] + end['missed']} writes, {end['slow']} "
        f"slow, slowest {slowest_ns / 1e6:.1f} ms, {end['missed']} missed"
    )


def _run(asked: argparse.Namespace) -> int:
    status, caught = carried_out(list(map(str, command(asked))))
    said = Path(f"{stem(asked)}.out").read_text(errors="replace")
    if status and not caught:
        raise StepError(f"fio: exit {status}; {fio_log.complaint(said)}")
    logs = sorted(
        stem(asked).parent.glob(f"{stem(asked).name}_clat.*.log"), key=_number
    )
    jobs = fio_log.read(said, logs, asked.interval_us)
    if not any(job.calls for job in jobs):
        raise StepError("fio wrote nothing")
    say(f"fio-client: {save(jobs, asked)}")
    return 128 + caught if caught else EXIT_COMPLETE


def main() -> int:
    """Run fio; return the exit status, 128 and the signal's number for a signal."""
    return parser().carry_out(_run)


def _number(path: Path) -> int:
    """Return N of STEM_clat.N.log, for numeric order."""
    return int(path.suffixes[-2].removeprefix("."))
