# SPDX-License-Identifier: GPL-2.0-only
"""test_safepoint: check the records and the exit status of safepoint, also after
failures."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from clients import (
    count,
    end_by,
    hold_still,
    keeps_the_contract,
    lines,
    longest_ns,
    of_kind,
    refused,
    slow_pipe,
    start,
    write,
)

MS = 1_000_000


def run(
    program: Path, folder: Path, *arguments: object, seconds: int = 2
) -> list[dict[str, Any]]:
    """Every pause as a line, in addition to the other logs."""
    rows, _ = write(
        program,
        folder,
        *("--path", folder / "gc.log", "--duration-s", seconds, "--slow-us", 0),
        *("--hlog-pause", folder / "p.hlog", *arguments),
    )
    return rows


def test_every_pause_stops_every_thread_and_adds_up(
    safepoint: Path, tmp_path: Path
) -> None:
    rows = run(safepoint, tmp_path, "--threads", 5, "--interval-us", 20_000)
    pauses, end = of_kind(rows, "pause"), rows[-1]
    keeps_the_contract(pauses)
    assert len(pauses) == end["pauses"] == count(tmp_path / "p.hlog") > 50
    assert [pause["seq"] for pause in pauses] == sorted({p["seq"] for p in pauses})
    for pause in pauses:
        parts = pause["reach_ns"], pause["log_ns"], pause["release_ns"]
        assert all(part >= 0 for part in parts)
        assert sum(parts) == pause["dur_ns"]
    # Threads end one by one at the end of the run; until then all are stopped.
    assert {pause["threads"] for pause in pauses[:-1]} == {5}
    for pause in pauses[:-1]:
        assert pause["log_ns"] <= pause["shortest_ns"]


def test_each_pause_logs_one_line_inside_it(safepoint: Path, tmp_path: Path) -> None:
    rows = run(safepoint, tmp_path, "--interval-us", 50_000, "--bytes", 300)
    pauses = {pause["seq"]: pause for pause in of_kind(rows, "pause")}
    calls = of_kind(rows, "client_write")
    assert len(calls) == len(pauses) == rows[-1]["writes"]
    assert (tmp_path / "gc.log").stat().st_size == 300 * len(calls)
    assert count(tmp_path / "s.hlog") == len(calls)
    for at, call in enumerate(calls):
        pause = pauses[call["seq"]]
        assert call["tid"] == pause["tid"]
        assert call["t_ns"] >= pause["t_ns"] + pause["reach_ns"]
        assert call["dur_ns"] <= pause["log_ns"]
        assert (call["offset"], call["ret"]) == (300 * at, 300)


def test_every_unit_of_work_is_counted(safepoint: Path, tmp_path: Path) -> None:
    run(safepoint, tmp_path, "--threads", 3, "--unit-interval-us", 10_000)
    assert count(tmp_path / "w.hlog") == 3 * 200


def test_pauses_are_wanted_on_the_schedule(safepoint: Path, tmp_path: Path) -> None:
    rows = run(safepoint, tmp_path, "--interval-us", 100_000)
    for pause in of_kind(rows, "pause"):
        assert pause["t_ns"] >= rows[0]["t_ns"] + pause["seq"] * 100 * MS


def test_a_stopped_program_asks_for_no_stop_it_slept_through(
    safepoint: Path, tmp_path: Path
) -> None:
    running = start(
        safepoint,
        *("--path", tmp_path / "gc.log", "--duration-s", 3, "--slow-us", 0),
        *("--hlog", tmp_path / "w.hlog", "--slow-log", tmp_path / "w.jsonl"),
    )
    time.sleep(1)
    hold_still(running, 1)
    running.communicate(timeout=60)
    assert running.returncode == 0
    # 60 scheduled times, 20 of them while it was stopped.
    assert of_kind(lines(tmp_path / "w.jsonl"), "pause")[-1]["seq"] > 50
    assert lines(tmp_path / "w.jsonl")[-1]["pauses"] < 45
    # The units of work were due all the same.
    assert count(tmp_path / "w.hlog") == 8 * 300
    assert longest_ns(tmp_path / "w.hlog") > 900 * MS


@pytest.mark.parametrize("how", [(), ("--async",)])
def test_a_slow_log_stops_all_threads_unless_it_is_asynchronous(
    safepoint: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    """The log is a pipe that is read late: a write to it waits."""
    pipe, reader = slow_pipe(tmp_path / "pipe", 1.5)
    rows, _ = write(
        safepoint,
        tmp_path,
        *("--path", pipe, "--bytes", 16384, "--interval-us", 20_000),
        *("--duration-s", 2, "--slow-us", 0, "--hlog-pause", tmp_path / "p.hlog", *how),
    )
    reader.join()
    pauses = of_kind(rows, "pause")
    longest = max(pauses, key=lambda row: row["dur_ns"])
    slow = max(of_kind(rows, "client_write"), key=lambda row: row["dur_ns"])
    slowest, end_ns = slow["dur_ns"], slow["t_ns"] + slow["dur_ns"]
    assert slowest > 500 * MS
    meanwhile = [
        row
        for row in pauses
        if slow["t_ns"] < row["t_ns"] and row["t_ns"] + row["dur_ns"] < end_ns
    ]
    if how:
        # A stop every 20 ms: threads were stopped and resumed while the write waited.
        assert len(meanwhile) > 5
    else:
        assert not meanwhile
        assert longest["log_ns"] >= slowest
        assert longest["threads"] == 8
        assert longest["shortest_ns"] >= slowest
        assert longest_ns(tmp_path / "w.hlog") > 500 * MS


@pytest.mark.parametrize("how", [(), ("--async",)])
def test_a_full_file_system_ends_the_run_by_name_with_its_logs(
    safepoint: Path, tiny: Path, tmp_path: Path, how: tuple[str, ...]
) -> None:
    rows, said = write(
        safepoint,
        tmp_path,
        *("--path", tiny / "gc.log", "--bytes", 10_000, "--interval-us", 20_000),
        *("--duration-s", 20, *how),
        expect=1,
    )
    assert f"write {tiny}/gc.log: No space left on device, at write 8 of 1000" in said
    end = rows[-1]
    # 6 whole lines, one cut short at the end of the last page, one refused.
    assert (end["writes"], end["short"], end["failed"]) == (8, 1, 1)
    assert [row["ret"] for row in of_kind(rows, "client_write")] == [5536, -28]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order_with_its_logs(
    safepoint: Path, tmp_path: Path, number: signal.Signals
) -> None:
    end_by(
        number,
        tmp_path / "gc.log",
        safepoint,
        *("--path", tmp_path / "gc.log", "--slow-us", 0),
        *("--hlog-pause", tmp_path / "p.hlog", "--slow-log", tmp_path / "w.jsonl"),
    )
    end = lines(tmp_path / "w.jsonl")[-1]
    assert end["ev"] == "end"
    assert 10 <= end["pauses"] < 60 * 20
    assert count(tmp_path / "p.hlog") == end["pauses"]
    assert (tmp_path / "gc.log").stat().st_size == 200 * end["writes"]


def test_an_asynchronous_log_drops_what_its_queue_cannot_hold(
    safepoint: Path, tmp_path: Path
) -> None:
    pipe, reader = slow_pipe(tmp_path / "pipe", 1.5)
    rows, _ = write(
        safepoint,
        tmp_path,
        *("--path", pipe, "--bytes", 65536, "--interval-us", 20_000, "--async"),
        *("--queue-lines", 3, "--duration-s", 2),
    )
    reader.join()
    end = rows[-1]
    assert end["dropped"] > 30
    assert end["writes"] + end["dropped"] == end["pauses"]


# Each row: arguments, expected stderr.
BAD = [
    ((), "--path is missing: name a new file or a directory"),
    (("--path", "x", "--threads", "0"), "--threads: '0': want N from 1 to 1024"),
    (
        ("--path", "x", "--unit-us", "1.5"),
        "--unit-us: '1.5': want US from 1 to 3600000000",
    ),
    (("--path", "x", "y"), "'y': no argument is expected here; see safepoint --help"),
    (
        ("--path", "/", "--duration-s", "86400", "--interval-us", "10"),
        "8709120000 writes would fill over half of memory with samples;"
        " shorten --duration-s",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_usage_gets_one_line(
    safepoint: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert refused(safepoint, *arguments) == f"safepoint: {message}\n"


def test_an_existing_log_is_never_touched(safepoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("precious")
    said = refused(safepoint, "--path", path)
    assert said == f"safepoint: {path}: File exists; name a new one\n"
    assert path.read_text() == "precious"


def test_help_lists_every_option(safepoint: Path) -> None:
    done = subprocess.run([safepoint, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for option in (
        "path threads unit-interval-us unit-us interval-us async queue-lines"
        " hlog-pause bytes duration-s slow-us hlog hlog-service slow-log seed"
    ).split():
        assert f"  --{option} " in done.stdout
