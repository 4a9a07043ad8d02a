# SPDX-License-Identifier: GPL-2.0-only
"""test_triggers: the last events become a run directory, so many a day, in bounds."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foreign import unread
from golden_runs import HOMES
from recorder.files import size_of
from streamed import fed, lines_of
from support import PROJECT
from watcher import dump, presence
from watcher.trap import ASKED, PRESSURE, STALL, Bounds, Trap, dumps, io_full_percent
from writestall.events.run_directory import open_run
from writestall_base.errors import UserError

S = 10**9
RUN = HOMES["inode-lock-6.12"]
MAP_BYTES = 600 << 10


@pytest.fixture
def refused() -> list[str]:
    return []


def _trap(folder: Path, refused: list[str], **bounds: int) -> Trap:
    return Trap(Bounds(folder, **bounds), lambda trigger, why: refused.append(why))


def test_a_stall_above_the_bound_is_a_trigger(
    tmp_path: Path, refused: list[str]
) -> None:
    trap = _trap(tmp_path, refused)
    trap.stalled(9 * S, 0)
    assert trap.due(10 * S) is None
    trap.stalled(10 * S, 20 * S)
    assert trap.due(21 * S) is None  # what ends with it is waited for
    assert trap.due(23 * S) == STALL
    assert trap.due(24 * S) is None


def test_one_that_stays_is_one_trigger(tmp_path: Path, refused: list[str]) -> None:
    trap = _trap(tmp_path, refused)
    for at in range(100):
        trap.pressed(80.0, at * S)
        due = trap.due(at * S)
        assert (due == PRESSURE) == (at in (3, 63)), at
    trap.pressed(None, 200 * S)
    trap.pressed(49.0, 200 * S)
    assert trap.due(300 * S) is None


def test_what_was_asked_for_while_another_is_due_is_not_lost(
    tmp_path: Path, refused: list[str]
) -> None:
    trap = _trap(tmp_path, refused)
    trap.pressed(80.0, 0)
    trap.spring(ASKED, 1 * S)
    assert trap.due(3 * S) == ASKED
    trap.pressed(80.0, 4 * S)  # the same pressure is in that dump
    assert trap.due(10 * S) is None


def test_no_more_than_so_many_a_day(tmp_path: Path, refused: list[str]) -> None:
    trap = _trap(tmp_path, refused, a_day=2)
    for at in (0, 100, 200):
        trap.spring(STALL, at * S)
        if trap.due((at + 5) * S):
            trap.place(STALL)
    assert refused == ["2 were written within a day"]
    # Another process counts what this one has left.
    for name in ("20261126-010101-stall", "20261126-010102-asked", "other"):
        (tmp_path / name).mkdir()
    again = _trap(tmp_path, refused, a_day=2)
    again.spring(STALL, 0)
    assert (again.due(9 * S), len(refused)) == (None, 2)
    # Any user can make calls stall so often; root is still answered.
    again.spring(ASKED, 10 * S)
    assert (again.due(19 * S), len(refused)) == (ASKED, 2)


@pytest.mark.parametrize(
    ("ahead_s", "accepted"),
    [(-48 * 3600, True), (-3600, False), (3600, False), (48 * 3600, True)],
)
def test_a_clock_that_was_set_refuses_no_dump_for_long(
    tmp_path: Path, refused: list[str], ahead_s: int, accepted: bool
) -> None:
    for number in range(2):
        folder = tmp_path / f"20261126-01010{number}-stall"
        folder.mkdir()
        os.utime(folder, (time.time() + ahead_s,) * 2)
    trap = _trap(tmp_path, refused, a_day=2)
    trap.spring(STALL, 0)
    assert (trap.due(9 * S) == STALL) == accepted


def test_dumps_of_a_clock_that_was_ahead_make_room_first(
    tmp_path: Path, refused: list[str]
) -> None:
    names = ("20261126-010101-stall", "29990101-000000-stall", "29990102-000000-open")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "events").write_bytes(bytes(1000))
    trap = _trap(tmp_path, refused, bytes=3500)
    assert trap.room(1000)
    assert [path.name for path in dumps(tmp_path)] == [names[2], names[0]]
    # One of this very second is not of a time to come.
    (tmp_path / trap.place(ASKED).name).mkdir()
    assert dumps(tmp_path)[0].name == names[2]


def test_the_oldest_make_room(tmp_path: Path, refused: list[str]) -> None:
    for number in range(4):
        folder = tmp_path / f"20261126-01010{number}-stall"
        folder.mkdir()
        (folder / "events").write_bytes(bytes(1000))
    (tmp_path / "mine").write_bytes(bytes(5000))
    trap = _trap(tmp_path, refused, bytes=3500)
    assert trap.room(1000) == 1500
    kept = [path.name[-7:] for path in dumps(tmp_path)]
    assert kept == ["2-stall", "3-stall"]
    assert not trap.room(3501)
    assert (tmp_path / "mine").exists()


def _content(*first: bytes) -> dump.Content:
    run = open_run(RUN)
    explaining, _ = fed(run, lines_of(run))
    return dump.Content(
        engine=explaining.engine,
        asked={"pid": None, "stall_ns": 50_000_000, "for_s": 1.0},
        tracer={"engine": explaining.engine, "version": "x", "script": "s"},
        first_lines=[*explaining.first_lines(), *first],
        segments=explaining.ring.snapshot(),
        window=(1, 2),
    )


def _written(folder: Path, *first: bytes, most_bytes: int = 1 << 20) -> Path:
    place = folder / "20261126-010101-stall"
    assert dump.write(place, _content(*first), most_bytes) == size_of(place)
    return place


def _tool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "writestall", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": f"{PROJECT}/base:{PROJECT}/analysis"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )


def test_a_dump_is_explained_as_the_run_was(tmp_path: Path) -> None:
    place = _written(tmp_path)
    copy = shutil.copytree(RUN, tmp_path / "copy")
    summaries = []
    for run in (place, copy):
        done = _tool("explain", run, "--json", "--all")
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)["summary"]
        summaries.append((summary["stalls"], summary["stall_ns_by_class"]))
        assert summary["notes"] == []
    assert summaries[0] == summaries[1]
    assert _tool("report", place, "-o", tmp_path / "page.html").returncode == 0
    assert _tool("export", place, "--redact", "-o", tmp_path / "out").returncode == 0
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_dump_has_the_containers_of_its_events(tmp_path: Path) -> None:
    group = f"/system.slice/docker-{'4f1d' * 16}.scope"
    row = {"ev": "cgroup", "t_ns": 1, "id": 7, "version": 2, "path": group}
    place = _written(tmp_path, json.dumps(row, separators=(",", ":")).encode() + b"\n")
    manifest = json.loads((place / "manifest.json").read_text())
    (container,) = manifest["containers"]
    assert (container["path"], container["runtime"]) == (group, "docker")


def test_what_does_not_fit_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gzip, "open", full)
    with pytest.raises(OSError, match="No space left"):
        _written(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_larger_than_what_is_left_leaves_nothing(tmp_path: Path) -> None:
    said = r"no room for \d+ KiB where 4 KiB are left; --dump-mib is the bound"
    with pytest.raises(OSError, match=said):
        _written(tmp_path, most_bytes=4 << 10)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def perf_map() -> Iterator[Path]:
    """A map of this process' code, as a JIT leaves it."""
    place = Path(f"/tmp/perf-{os.getpid()}.map")
    place.write_bytes(b"1000 10 compiled\n" * (MAP_BYTES // 17))
    yield place
    place.unlink()


def test_all_together_never_take_more_than_the_bound(
    tmp_path: Path, refused: list[str], perf_map: Path
) -> None:
    trap = _trap(tmp_path, refused, bytes=2 * MAP_BYTES - (48 << 10))
    caller = b'{"ev":"write","t_ns":1,"pid":%d}\n' % os.getpid()
    content, maps = _content(caller), []
    for number in range(6):
        place = tmp_path / f"20261126-01010{number}-stall"
        dump.keep(place, content, trap)
        assert sum(map(size_of, dumps(tmp_path))) <= trap.bounds.bytes
        kept = list((place / "symbols").glob("perf*"))
        assert all(path.read_bytes() == perf_map.read_bytes() for path in kept)
        maps.append(len(kept))
    # One has room for the map; where the next ones leave it none, it is left out.
    assert (maps[:2], set(maps)) == ([1, 0], {0, 1})


def test_a_running_watch_is_found_and_asked(tmp_path: Path) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    there = presence.Presence(tmp_path)
    with pytest.raises(UserError, match=f"another watch runs, process {os.getpid()}"):
        presence.Presence(tmp_path)
    assert presence.ask_for_a_dump(tmp_path) == os.getpid()
    signal.signal(signal.SIGUSR1, before)
    assert heard == [signal.SIGUSR1]
    there.leave()
    with pytest.raises(UserError, match="no watch runs here"):
        presence.ask_for_a_dump(tmp_path)


def test_one_that_was_killed_is_noticed_by_the_next(tmp_path: Path) -> None:
    first = presence.Presence(tmp_path)
    assert first.killed is None
    os.close(first._file)  # as the end of its process does
    os.utime(tmp_path / presence.NAME, (1, 1))
    second = presence.Presence(tmp_path)
    assert second.killed and re.fullmatch(r"was killed \d{9,} s ago", second.killed)
    second.leave()
    third = presence.Presence(tmp_path)
    assert third.killed is None
    third.leave()


def test_one_that_was_killed_before_the_clock_was_set_back_is_noticed(
    tmp_path: Path,
) -> None:
    first = presence.Presence(tmp_path)
    os.close(first._file)
    ahead_s = time.time() + 3600
    os.utime(tmp_path / presence.NAME, (ahead_s, ahead_s))
    second = presence.Presence(tmp_path)
    assert second.killed == "was killed before the clock was set back"
    second.leave()


def test_pressure_is_read_where_it_is_kept(tmp_path: Path) -> None:
    assert io_full_percent(tmp_path) is None
    (tmp_path / "proc/pressure").mkdir(parents=True)
    text = "some avg10=2.00 avg60=1.00 avg300=0.50 total=9\nfull avg10=1.25 avg60=0.1\n"
    (tmp_path / "proc/pressure/io").write_text(text)
    assert io_full_percent(tmp_path) == 1.25


def test_a_dump_that_hangs_is_given_up_and_reported(
    tmp_path: Path, refused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a process that stalled is on a disk that stalls, for example."""
    going_on, told = threading.Event(), list[tuple[str, str]]()
    monkeypatch.setattr(dump, "WITHIN_S", 0.2)
    write = dump.write

    def hanging(*given: Any) -> int:
        going_on.wait(60)
        return write(*given)

    monkeypatch.setattr(dump, "write", hanging)
    dumper = dump.Dumper(lambda trigger, _, why: told.append((trigger, why)))
    trap = _trap(tmp_path, refused)
    dumper.begin(STALL, _content(), trap)
    first = threading.enumerate()[-1]
    dumper.tell()
    assert not dumper.idle and not told
    until_s = time.monotonic() + 30
    while not dumper.idle and time.monotonic() < until_s:
        time.sleep(0.05)
        dumper.tell()
    assert told == [(STALL, "it was not written within 0.2 s")]
    # It is not waited for by the next one, and leaves nothing when it goes on.
    monkeypatch.setattr(dump, "write", write)
    monkeypatch.setattr(dump, "WITHIN_S", 60.0)
    dumper.begin(ASKED, _content(), trap)
    dumper.wait(time.monotonic() + 30)
    assert told[1:] == [(ASKED, "")]
    going_on.set()
    first.join(30)
    assert [place.name[-5:] for place in dumps(tmp_path)] == [ASKED]
    assert len(told) == 2


def test_files_that_a_dump_could_not_read_are_reported(
    tmp_path: Path, refused: list[str]
) -> None:
    """As a map of JIT code that is a FIFO."""
    lines, place = list[str](), Path(f"/tmp/perf-{os.getpid()}.map")
    os.mkfifo(place)
    try:
        dumper = dump.Dumper(lambda *_: None, lines.append)
        caller = b'{"ev":"write","t_ns":1,"pid":%d}\n' % os.getpid()
        dumper.begin(STALL, _content(caller), _trap(tmp_path, refused))
        dumper.wait(time.monotonic() + 30)
    finally:
        place.unlink()
    why = "not a regular file"
    assert lines == [f"the perf map of process {os.getpid()} not read: {why}"]
    assert unread.count(lines[0]) == 1
