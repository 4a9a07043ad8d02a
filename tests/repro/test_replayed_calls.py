# SPDX-License-Identifier: GPL-2.0-only
"""This test will replay made calls: on files of their sizes, in time and in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from labrun.workloads.commands import save_requests
from made_calls import FOLDER, MS, REGULAR, built, content, replay, row

APPENDS, CREATED, RING, ASYNC, FAILED, STORES = 1, 16, 16, 64, 128, 1


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("replay"))


def requests(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_files_end_as_the_calls_left_them(program: Path, tmp_path: Path) -> None:
    rows = [row(i * 2, 1, "write", 1, i * 200, 200, flags=APPENDS) for i in range(20)]
    rows += [row(i * 10 + 1, 2, "fsync", 1) for i in range(4)]
    rows += [row(3, 2, "write", 2, 4096, 4096), row(4, 2, "read", 2, 0, 8192)]
    rows += [
        row(5, 2, "open", 3, flags=CREATED),
        row(6, 2, "write", 3, 0, 500),
        row(7, 2, "rename", 3, 2),
        row(8, 2, "close", 3),
        row(9, 2, "truncate", 3, 100),
        row(12, 2, "fsync", 4),
        row(13, 2, "allocate", 1, 0, 1 << 16, flags=1),  # FALLOC_FL_KEEP_SIZE
        row(14, 2, "unlink", 5),
        row(15, 2, "write", 5, 0, 10, flags=FAILED),
    ]
    files = [(1000, REGULAR), (8192, REGULAR), (0, REGULAR), (0, FOLDER), (7, REGULAR)]
    report = replay(program, content(files, rows), tmp_path)
    assert (report["calls"], report["made"], report["skipped"]) == (34, 34, 1)
    assert {one["operation"]: one["failed"] for one in report["operations"]} == {
        **dict.fromkeys(("write", "read", "fsync", "open", "close"), 0),
        **dict.fromkeys(("unlink", "rename", "truncate", "allocate"), 0),
    }
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "place").iterdir()}
    assert sizes == {"f00000001": 5000, "f00000002": 100}


def test_pages_are_stored_to_and_synced_through_a_mapping(
    program: Path, tmp_path: Path
) -> None:
    """A store to a hole gives it a block; one behind the file's end fails, and ends
    nothing."""
    page = 4096
    rows = [
        row(0, 1, "open", 1, flags=CREATED),
        row(1, 1, "truncate", 1, 64 * page),
        row(2, 1, "fault", 1, 2 * page, page, flags=STORES),
        row(3, 1, "fault", 1, 5 * page, page),
        row(4, 1, "msync", 1, 2 * page + 100, page),
        row(5, 1, "fault", 1, 70 * page, page, flags=STORES),
        row(6, 1, "syncfs", 1),
    ]
    report = replay(program, content([(0, REGULAR)], rows), tmp_path)
    assert report["made"] == len(rows)
    failed = {one["operation"]: one["failed"] for one in report["operations"]}
    assert failed == dict.fromkeys(("open", "truncate", "msync", "syncfs"), 0) | {
        "fault": 1
    }
    [made] = (tmp_path / "place").iterdir()
    assert made.stat().st_blocks * 512 == page


def laid_out(program: Path, folder: Path, calls: bytes) -> Path:
    """The only file of a recording, as it is made before the calls."""
    given, place = folder / "calls.bin", folder / "place"
    given.write_bytes(calls)
    place.mkdir()
    subprocess.run([program, "--prepare", given, place], check=True, timeout=60)
    [made] = place.iterdir()
    return made


@pytest.mark.parametrize(
    ("size", "blocks", "least", "most"),
    [
        (64, None, 61, 64),  # unknown: all that is touched, and between
        (64, 64, 61, 64),
        (64, 0, 0, 0),  # nothing but holes
        (64, 1, 1, 1),
        (64, 3, 3, 3),  # the first of two reads alone, and its neighbour
        (64, 40, 6, 6),  # what is touched
        (4, 4, 4, 4),
        (4, 15, 4, 4),  # the file system's own
        (4, 40, 40, 40),
        (4, 1 << 20, 64, 64),  # as far as the calls come
    ],
)
def test_files_are_laid_out_as_they_were(
    program: Path,
    tmp_path: Path,
    size: int,
    blocks: int | None,
    least: int,
    most: int,
) -> None:
    """Those of 4096 bytes: the calls read two, one behind the other, and two more, and
    overwrite the first and the last."""
    page = 4096
    rows = [row(1, 1, "read", 1, 30 * page, 2 * page)]
    rows += [row(2, 1, "read", 1, 50 * page, 2 * page)]
    rows += [row(3, 1, "write", 1, at * page, page) for at in (3, 63)]
    file = (size * page, REGULAR, 0 if blocks is None else 1 + blocks)
    status = laid_out(program, tmp_path, content([file], rows)).stat()
    assert status.st_size == size * page
    assert least <= status.st_blocks * 512 // page <= most


def test_what_is_read_is_no_hole_first(program: Path, tmp_path: Path) -> None:
    rows = [row(1, 1, "write", 1, 0, 8192), row(2, 1, "read", 1, 81920, 4096)]
    calls = content([(1 << 20, REGULAR, 3)], rows)
    with laid_out(program, tmp_path, calls).open("rb") as made:
        assert made.seek(0, os.SEEK_DATA) == 0
        assert made.seek(0, os.SEEK_HOLE) == 4096
        assert made.seek(4096, os.SEEK_DATA) == 81920


@pytest.mark.parametrize("flags", [ASYNC, ASYNC | RING], ids=["aio", "io_uring"])
def test_requests_are_made_and_waited_for(
    program: Path, tmp_path: Path, flags: int
) -> None:
    """A thread submits them all in time; a read finds what they have written."""
    rows = [
        row(i, 1, "write", 1, i << 20, 1 << 20, took_ms=50, flags=flags)
        for i in range(20)
    ]
    rows += [row(100, 1, "read", 1, 0, 20 << 20, took_ms=1)]
    rows += [row(200, 1, "read", 1, 5 << 20, 100, flags=flags)]
    rows += [row(210, 1, what, 1, flags=flags) for what in ("fsync", "fdatasync")]
    report = replay(program, content([(0, REGULAR)], rows), tmp_path)
    made = {one["operation"]: one["made"] for one in report["operations"]}
    assert made == {"write": 20, "read": 2, "fsync": 1, "fdatasync": 1}
    for one in report["operations"]:
        assert not one["failed"] and one["replayed"]["p50_ns"] > 0
    [written] = (tmp_path / "place").iterdir()
    assert written.stat().st_size == 20 << 20


def test_calls_are_made_at_their_times(program: Path, tmp_path: Path) -> None:
    rows = [row(at_ms, 1, "write", 1, 0, 10) for at_ms in range(0, 300, 10)]
    report = replay(program, content([(0, REGULAR)], rows), tmp_path)
    assert report["recorded_ns"] == 290_000_000
    assert 0 <= report["replayed_ns"] - 290_000_000 < 200_000_000
    assert report["late_p50_ns"] >= 0
    listed = requests(tmp_path / "requests.jsonl")
    first_ns = listed[0]["intended_ns"]
    due_ns = [one["intended_ns"] - first_ns for one in listed]
    assert due_ns == [at_ms * MS for at_ms in range(0, 300, 10)]
    assert all(one["t_ns"] >= one["intended_ns"] for one in listed)
    assert {(one["tid"], one["what"]) for one in listed} == {(1, "write")}
    said = save_requests(tmp_path / "requests.jsonl", tmp_path / "writer")
    assert said.startswith("30 requests")


def test_who_was_woken_waits_for_what_its_waker_had_called(
    program: Path, tmp_path: Path
) -> None:
    """Also where a thread between them made no call; wakes that name each other, or a
    thread that is not there, hold nobody."""
    rows = [
        row(0, 1, "write", 1, 0, 64 << 20),
        row(1, 3, "wake", 0, 1),
        row(2, 2, "wake", 0, 3),
        row(3, 2, "fsync", 2),
        row(3, 4, "fsync", 2),
        *(row(4, tid, "wake", 0, 9 - tid) for tid in (4, 5)),
        *(row(5, 4, "wake", 0, waker) for waker in (4, 77, 1 << 40)),
        row(6, 4, "fsync", 2),
    ]
    report = replay(program, content([(0, REGULAR), (0, REGULAR)], rows), tmp_path)
    assert (report["calls"], report["made"], report["wakes"]) == (4, 4, 7)
    assert {one["operation"] for one in report["operations"]} == {"write", "fsync"}
    listed = requests(tmp_path / "requests.jsonl")
    [written], [synced], [free, _] = (
        [one for one in listed if one["tid"] == tid] for tid in (1, 2, 4)
    )
    ended_ns = written["t_ns"] + written["dur_ns"]
    assert free["t_ns"] < ended_ns <= synced["t_ns"]


def test_a_call_that_was_due_but_not_made_has_waited(
    program: Path, tmp_path: Path
) -> None:
    """It is told to end as it goes on behind the time at which many calls were due."""
    due = 200_000
    rows = [row(0, 1, "write", 1, 0, 10), row(3_600_000, 1, "write", 1, 0, 10)]
    rows += [row(1000, 1, "write", 1, 0, 10)] * due
    (tmp_path / "calls.bin").write_bytes(content([(0, REGULAR)], rows))
    listed = tmp_path / "requests.jsonl"
    start_ns = time.monotonic_ns() + 3 * 10**9
    words = ["--requests", str(listed), "--start-ns", str(start_ns)]
    words += [str(tmp_path / "calls.bin"), str(tmp_path)]
    with subprocess.Popen([str(program), *words], stdout=subprocess.DEVNULL) as going:
        threads = Path(f"/proc/{going.pid}/task")
        while len(list(threads.iterdir())) < 2 or time.monotonic_ns() < start_ns:
            time.sleep(0.05)
        time.sleep(0.5)
        going.send_signal(signal.SIGSTOP)
        time.sleep(1)
        going.terminate()
        going.send_signal(signal.SIGCONT)
    made = requests(listed)
    assert len(made) == 1 + due
    waited = [one["t_ns"] - one["intended_ns"] for one in made if not one["dur_ns"]]
    assert waited and min(waited) >= 300 * MS


def test_a_call_waits_for_those_that_had_ended_on_its_file(
    program: Path, tmp_path: Path
) -> None:
    """A read finds what another thread has written before it, however long that took
    now: the writer waits for a call on another file, of 300 ms of a third thread's."""
    rows = [row(0, 1, "write", 1, 0, 100 << 20, took_ms=1)]
    rows += [row(5, 2, "read", 1, 0, 100 << 20, took_ms=1)]
    report = replay(program, content([(0, REGULAR)], rows), tmp_path)
    made = {one["operation"]: one for one in report["operations"]}
    took_ns = made["write"]["replayed"]["max_ns"]
    assert report["late_p999_ns"] >= took_ns - 6_000_000


@pytest.mark.parametrize("cut", [0, 7, 39, 41, 60, 90])
def test_a_file_that_is_cut_off_is_refused(
    program: Path, tmp_path: Path, cut: int
) -> None:
    whole = content([(0, REGULAR)], [row(0, 1, "write", 1, 0, 10)] * 2)
    (tmp_path / "calls.bin").write_bytes(whole[: len(whole) - 1 - cut])
    words = [program, tmp_path / "calls.bin", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("files", "rows"),
    [
        ([(0, 3)], []),
        ([(1 << 50, REGULAR)], []),
        ([(0, REGULAR)], [row(0, 1, "write", 2)]),
        ([(0, REGULAR)], [row(0, 1, "write", 0)]),
        ([(0, REGULAR)], [row(-1, 1, "write", 1)]),
        ([(0, REGULAR)], [row(0, 1, "write", 1, -1)]),
        ([(0, REGULAR)], [row(0, 1, "rename", 1, 7)]),
        ([(0, REGULAR)], [(*row(0, 1, "write", 1)[:6], 99, 0)]),
    ],
)
def test_what_cannot_be_is_refused(
    program: Path, tmp_path: Path, files: list[tuple[int, int]], rows: list[object]
) -> None:
    (tmp_path / "calls.bin").write_bytes(content(files, rows))  # type: ignore[arg-type]
    words = [program, tmp_path / "calls.bin", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no calls of a recording" in done.stderr


def test_calls_at_one_time_wait_for_nobody(program: Path, tmp_path: Path) -> None:
    rows = [row(1, tid, "write", 1, 0, 10, took_ms=0) for tid in range(1, 9)] * 20
    report = replay(program, content([(0, REGULAR)], rows), tmp_path)
    assert (report["made"], report["threads"]) == (160, 8)
