# SPDX-License-Identifier: GPL-2.0-only
"""This test will sum the long sleeps of programs that belong to no listed call, show
where they were, and choose calls by name and group."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
from refusals import refused
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
MMAP = [
    "rwsem_down_write_slowpath+0x1",
    "vm_mmap_pgoff+0x2",
    "do_syscall_64+0x3",
    "entry_SYSCALL_64_after_hwframe+0x4",
]
FAULT = ["folio_wait_bit_common+0x1", "handle_mm_fault+0x2", "asm_exc_page_fault+0x3"]
THREAD = ["io_schedule+0x1", "kthread+0x2", "ret_from_fork_asm+0x3"]


def sleep(
    events: build.Events,
    tid: int,
    dur_ms: float,
    stack: list[str],
    comm: str = "latwriter",
) -> None:
    events.block(tid, 10, dur_ms, "journal_buffer", None, comm=comm)
    events.rows[-1]["kstack"] = stack


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A write, a fsync and an openat that stalled, and sleeps of many a kind."""
    events = build.Events()
    for tid, call in enumerate(("write", "fsync", "openat"), 200):
        events.write(tid, 10, 90, 80, call=call)
        sleep(events, tid, 80, MMAP)  # in a listed call
    sleep(events, 300, 400, MMAP, comm="java")
    sleep(events, 301, 500, MMAP, comm="python")
    sleep(events, 302, 300, FAULT, comm="java")
    sleep(events, 303, 100, THREAD, comm="iou-wrk-299")
    sleep(events, 304, 900, THREAD, comm="kworker/0:1")
    sleep(events, 305, 49, MMAP)  # shorter than a stall
    return build.run_dir(tmp_path / "run", events.end())


def answered(capsys: Capture, *words: str) -> str:
    assert main(["explain", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_sleeps_in_other_calls_are_one_line(run: Path, capsys: Capture) -> None:
    lines = answered(capsys, str(run)).splitlines()
    kinds = "1 write(2), 1 fsync(2), 1 openat(2)"
    assert lines[0].startswith(f"3 calls stalled, worst 90.0 ms ({kinds}); ")
    text = "1.3 s of sleeps in other calls, the longest 500 ms; "
    assert lines[1] == f"{text}explain --other shows where"


def test_their_stacks_are_shown_on_request(run: Path, capsys: Capture) -> None:
    lines = answered(capsys, str(run), "--other").splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert heads == [
        "2 sleeps, 900 ms in sum, the longest 500 ms: java, python",
        "1 sleep, 300 ms in sum, the longest 300 ms: java",
        "1 sleep, 100 ms in sum, the longest 100 ms: iou-wrk-299",
    ]
    assert lines[1:5] == [f"    {frame}" for frame in MMAP]


def test_none_is_said_only_when_asked(tmp_path: Path, capsys: Capture) -> None:
    events = build.Events()
    events.write(200, 10, 90, 80)
    run = str(build.run_dir(tmp_path / "run", events.end()))
    assert "other calls" not in answered(capsys, run)
    assert answered(capsys, run, "--other").startswith("No program slept")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("openat", "1 call stalled, worst 90.0 ms (1 openat(2));"),
        ("writes,syncs", "2 calls stalled, worst 90.0 ms (1 write(2), 1 fsync(2));"),
        ("names,write", "2 calls stalled, worst 90.0 ms (1 write(2), 1 openat(2));"),
        ("mkdir", "No call of those chosen stalled"),
    ],
)
def test_calls_are_chosen(run: Path, words: str, first: str, capsys: Capture) -> None:
    out = answered(capsys, str(run), "--call", words)
    assert out.startswith(first)
    assert "1.3 s of sleeps in other calls" in out


def test_an_unknown_call_is_refused(run: Path, capsys: Capture) -> None:
    line = refused(["explain", str(run), "--call", "fsync,opne"], capsys)
    assert "opne: no call of a file system" in line


def test_slow_ios_that_no_task_slept_for_are_counted(
    tmp_path: Path, capsys: Capture
) -> None:
    """Direct requests of AIO's: their submitter goes on, their bios are recorded."""
    events = build.Events()
    events.io(300, 0, 400, "fio")
    events.io(300, 5, 90, "fio")
    events.io(300, 6, 40, "fio")  # shorter than a stall
    events.io(200, 20, 70, "latwriter")  # its fsync waits for it
    events.io(77, 0, 300, "kworker/u8:3", "flusher_submits")
    events.io(253, 0, 300, "jbd2/vdb-8")
    events.write(200, 10, 90, 80, call="fsync")
    run = build.run_dir(tmp_path / "run", events.end())
    assert main(["explain", str(run)]) == 0
    line = "2 slow I/Os that no call listed waited for, the longest 400 ms: 2 of fio"
    assert line in capsys.readouterr().out.splitlines()
