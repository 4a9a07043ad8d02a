# SPDX-License-Identifier: GPL-2.0-only
"""test_fio: read fio's output and latency logs into a client's record."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from clients import count, lines, longest_ns, of_kind
from test_scenario import GOOD, parse, refusal

from labrun.scenario import kinds
from labrun.workloads import fio_client, fio_log
from writestall_base.errors import StepError

MS = 1_000_000
INTERVAL_US = 2_000
EPOCH_MS = 5_000
PIDS = (41, 42)
LATWRITER = GOOD[GOOD.index("[[workload]]") : GOOD.index("[expect]")]
FIO = GOOD.replace(
    LATWRITER,
    """[[workload]]
kind = "fio"
name = "gc"
job = "appends"
write_bytes = 200
interval_us = 2_000

""",
)


def said(engine: str = "sync", pids: tuple[int, ...] = PIDS) -> str:
    """fio's JSON between its other lines, as `normal,json` prints it."""
    result = {
        "global options": {"ioengine": engine},
        "jobs": [{"job_start": EPOCH_MS + at, "job options": {}} for at in range(2)],
    }
    processes = "".join(
        f"append: (groupid=0, jobs=1): err= 0: pid={pid}: Sun Nov 22 15:47:48 2026\n"
        for pid in pids
    )
    return (
        f"fio-3.41\nStarting 2 processes\n{json.dumps(result, indent=2)}\n{processes}"
    )


def line(seq: int, dur_ns: int, late_ns: int = 0, direction: int = 1) -> str:
    """A line of the completion latency log, with this delay."""
    issue_ns = seq * INTERVAL_US * 1_000 + late_ns
    ms = EPOCH_MS + (issue_ns + dur_ns) // MS
    return f"{ms}, {dur_ns}, {direction}, 200, {200 * seq}, 0, {issue_ns}\n"


def logs(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"w-fio_clat.{number}.log" for number in range(1, 1 + len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def asked(folder: Path) -> argparse.Namespace:
    words = {"job": "x.fio", "path": folder / "lab/gc.log"}
    words |= {"hlog": folder / "w.hlog", "hlog-service": folder / "s.hlog"}
    words |= {"slow-log": folder / "w.jsonl", "bytes": 200, "seed": 1}
    words |= {"interval-us": INTERVAL_US, "duration-s": 1, "slow-us": 50_000}
    return fio_client.parser().parse_args(
        [word for name, value in words.items() for word in (f"--{name}", str(value))]
    )


def test_each_process_has_its_own_epoch_and_name(tmp_path: Path) -> None:
    paths = logs(tmp_path, line(0, 500) + line(1, 700, 30), line(0, 600))
    first, second = fio_log.read(said(), paths, INTERVAL_US)
    assert (first.tid, second.tid) == PIDS
    assert (first.call, len(first.calls)) == ("write", 2)
    late = first.calls[1]
    assert late.t_ns == EPOCH_MS * MS + INTERVAL_US * 1_000 + 30
    assert (late.dur_ns, late.latency_ns) == (700, 730)
    assert second.calls[0].t_ns == (EPOCH_MS + 1) * MS


def test_only_writes_count(tmp_path: Path) -> None:
    paths = logs(tmp_path, line(0, 500, direction=0) + line(1, 700), "")
    first, second = fio_log.read(said("psync"), paths, INTERVAL_US)
    assert [call.dur_ns for call in first.calls] == [700]
    assert (first.call, second.calls) == ("pwrite64", ())


def test_the_record_is_that_of_any_client(tmp_path: Path) -> None:
    """A write of 60 ms, and the next one, which was due 2 ms later."""
    behind_ns = 60 * MS - INTERVAL_US * 1_000 + 100
    text = line(0, 60 * MS) + line(1, 500, behind_ns)
    jobs = fio_log.read(said(), logs(tmp_path, text, line(0, 400)), INTERVAL_US)
    words = asked(tmp_path)
    result = fio_client.save(jobs, words)
    assert result == "3 of 1000 writes, 1 slow, slowest 60.0 ms, 997 missed"
    rows = lines(words.slow_log)
    (slow,) = of_kind(rows, "client_write")
    assert (slow["tid"], slow["dur_ns"]) == (PIDS[0], 60 * MS)
    assert slow["path"] == "lab/gc.log"
    assert rows[-1]["late_ns"] == 100  # the time that no earlier write explains
    assert count(words.hlog) == count(words.hlog_service) == 3
    assert longest_ns(words.hlog) >= 60 * MS
    corrected = [call.latency_ns for job in jobs for call in job.calls]
    assert corrected == [60 * MS, behind_ns + 500, 400]


@pytest.mark.parametrize(
    ("output", "text", "message"),
    [
        (
            "fio: job file: No such file\n",
            "",
            "no JSON in fio's output; fio: job file: No",
        ),
        (said(pids=(1,)), "", "fio names 1 processes, 2 jobs and wrote 2 logs"),
        (said("libaio"), "", "ioengine libaio: want sync or psync"),
        (said(), "5000, many, 1, 200, 0, 0, 0\n", "w-fio_clat.1.log:1: not a line"),
        (said(), "5000, 5, 1, 200\n", "w-fio_clat.1.log:1: not a line of fio's log"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(
    tmp_path: Path, output: str, text: str, message: str
) -> None:
    with pytest.raises(StepError) as caught:
        fio_log.read(output, logs(tmp_path, text, ""), INTERVAL_US)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_fio_gets_the_clock_of_the_tracers(tmp_path: Path) -> None:
    command = fio_client.command(asked(tmp_path))
    assert "--log_alternate_epoch_clock_id=1" in command
    assert "--job_start_clock_id=1" in command
    assert "--rate_iops=500" in command
    assert "--log_avg_msec=0" in command


def test_a_scenario_names_a_job_file() -> None:
    client = parse(FIO).workload[0]
    assert isinstance(client, kinds.Fio)
    assert client.job_file.is_file()


@pytest.mark.parametrize(
    ("text", "instead", "message"),
    [
        (
            '"appends"',
            '"apends"',
            "x.toml: workload[0].job: not known, did you mean appends?",
        ),
        (
            "interval_us = 2_000",
            "interval_us = 3_000",
            "x.toml: workload[0].interval_us: want a whole number of writes a second",
        ),
    ],
)
def test_mistakes_of_a_fio_workload_get_one_line(
    text: str, instead: str, message: str
) -> None:
    assert refusal(FIO.replace(text, instead, 1)) == message
