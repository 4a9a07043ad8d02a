# SPDX-License-Identifier: GPL-2.0-only
"""This test will find an application's complaints drawn to the disk, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import build
import webpage
from writestall.chain.answers import answer
from writestall.common.windows import Cover, layered
from writestall.events.run_directory import open_run
from writestall.report.headline import headline

MS = build.MS
Call = tuple[int, float, float]


def run_of(
    path: Path,
    calls: Iterable[Call],
    rows: Iterable[Call],
    what: str = "COMMIT",
    files: Mapping[int, str] = MappingProxyType({}),
) -> Path:
    """A run of stalled fdatasync(2) calls and requests: tid, start, duration in ms.

    `files` are those of the calls by tid; else it is the WAL.
    """
    events = build.Events()
    for tid, at_ms, dur_ms in calls:
        irq = (0, "swapper/0")
        events.block(
            tid, at_ms, dur_ms, "own_writeback", irq, "completion", ctx="hardirq"
        )
        about: dict[str, Any] = {
            "call": "fdatasync",
            "path": files.get(tid, "lab/ledger.db-wal"),
            "comm": "app",
        }
        events.write(tid, at_ms, dur_ms, dur_ms, pid=300, **about)
    run = build.run_dir(path / "run", events.end())
    folder = run / "application/sqlite-wal"
    folder.mkdir(parents=True)
    records = [
        {
            "t_ns": build.START_NS + int(at_ms * MS),
            "dur_ns": int(dur_ms * MS),
            "tid": tid,
            "what": what,
        }
        for tid, at_ms, dur_ms in rows
    ]
    (folder / "requests.jsonl").write_text(build.json_lines(records))
    return run


def sentence(run: Path) -> str | None:
    return headline(answer(open_run(run), None))


def test_from_the_request_through_the_call_to_the_disk(tmp_path: Path) -> None:
    """While another thread was in a call first, then in its own."""
    calls = [(301, 100, 400), (302, 500, 600)]
    page = webpage.read(run_of(tmp_path, calls, [(302, 100, 1000)]))
    moment = page.one("details", class_="moment")
    assert moment.one("summary").words == "COMMIT took 1000 ms sqlite-wal, thread 302"
    lanes = [lane.words for lane in moment.all("text", class_="lane")]
    assert lanes == [
        "sqlite-wal COMMIT, thread 302",
        "calls of app/301",
        "sleeps of app/301",
        "calls of app/302",
        "sleeps of app/302",
        "disk vdb",
    ]
    picture = moment.one("svg", class_="timeline")
    inner = (row for row in picture.all("svg") if list(row.all("rect")))
    bars = [row.one("text").words for row in inner]
    assert {"own 600 ms", "meanwhile 400 ms"} <= set(bars)
    assert "fdatasync(2) lab/ledger.db-wal 600 ms" in bars
    lines = {
        line.one("title").words: line.attributes["class"]
        for line in moment.all("line")
        if line.attributes["class"].startswith("arrow")
    }
    # A dashed line, and the word in the legend: no meaning by colour alone.
    assert lines["meanwhile: fdatasync(2) of app/301"] == "arrow guess"
    assert lines["own: fdatasync(2) of app/302"] == "arrow"
    assert "unknown: another task was in a call (inferred)" in page.text


def test_the_application_speaks_first(tmp_path: Path) -> None:
    """Its sentence is the page's headline, the kernel's stands below it."""
    page = webpage.read(run_of(tmp_path, [(301, 100, 900)], [(301, 90, 950)]))
    assert (
        page.one("h1").words
        == "1 COMMIT of 500 ms and more: one fdatasync(2) of the WAL."
    )
    assert page.one("p", class_="answer").words.startswith("1 call stalled")


def test_each_one_call(tmp_path: Path) -> None:
    """Short ones that are less than half of the time do not lower the limit."""
    calls = [(301, at, 1100) for at in (0, 2000, 4000)]
    rows = [(301, at, 1101) for at in (0, 2000, 4000)] + [(301, 6000, 60)]
    words = "3 COMMITs of a second and more, each one fdatasync(2) of the WAL."
    assert sentence(run_of(tmp_path, calls, rows)) == words


def test_parts_where_it_is_no_one_call(tmp_path: Path) -> None:
    calls = [(301, 0, 300), (301, 400, 300)]
    rows = [(301, 0, 700), (302, 0, 800)]
    words = (
        "2 COMMITs of 500 ms and more: 40.0 % in their own fdatasync(2) of the WAL, "
        "60.0 % unknown: may have waited for stalled calls of other tasks, 600 ms "
        "meanwhile, most in fdatasync(2) of the WAL (inferred)."
    )
    assert sentence(run_of(tmp_path, calls, rows)) == words


def test_of_several_calls_none_is_said_to_be_all(tmp_path: Path) -> None:
    """The call with the most time is named, and its share, not the most frequent."""
    files = {301: "base/1", 302: "base/2", 303: "base/3"}
    calls = [(301, 0, 200), (301, 300, 200), (302, 600, 450), (303, 1200, 200)]
    words = (
        "4 GETs of 200 ms and more: 100.0 % in their own fdatasync(2), most "
        "of base/2 (42.8 %)."
    )
    assert sentence(run_of(tmp_path, calls, calls, "GET", files)) == words


def test_a_bystander_is_not_blamed(tmp_path: Path) -> None:
    """It shares time with the request, but no wake-up joins them."""
    calls = [(301, 0, 100), *((302, at, 240) for at in (2000, 2250, 2500))]
    run = run_of(tmp_path, calls, [(301, 2000, 1000)], "GET")
    words = (
        "1 GET of a second and more: 100.0 % unknown: may have waited for stalled calls"
        " of other tasks, 720 ms meanwhile, most in fdatasync(2) of the WAL (inferred)."
    )
    assert sentence(run) == words
    moment = webpage.read(run).one("details", class_="moment")
    assert "unknown, may have waited for fdatasync(2)" in moment.text
    assert "root:" not in moment.text


def test_a_call_of_a_thread_that_is_not_named_is_inferred(tmp_path: Path) -> None:
    """Redis' log names no thread; the name of the thread and the time join them."""
    second = build.START_NS // 1_000_000_000
    stream = build.Events()
    stream.write(300, 2000, 900, 900, pid=300, comm="redis-server", path="x.aof")
    clock = {"monotonic_ns": build.START_NS, "realtime_ns": build.START_NS}
    run = build.run_dir(tmp_path / "redis", stream.end(), clock=clock)
    folder = run / "application/redis"
    folder.mkdir(parents=True)
    (folder / "redis-latency.log").write_text(f"command {second + 2} 900\n")
    assert sentence(run) == (
        "1 command event of 500 ms and more: one write(2) to the AOF (inferred)."
    )


def test_group_commit_is_not_said_to_be_off_the_disk(tmp_path: Path) -> None:
    """Threads of requests that are in no event wait for one that syncs."""
    calls = [(309, at, 450) for at in (0, 500)]
    run = run_of(tmp_path, calls, [(311, 0, 980), (312, 10, 970)], "PUT")
    assert sentence(run) == (
        "2 PUTs of 500 ms and more: 100.0 % unknown: may have waited for stalled calls "
        "of other tasks, 1790 ms meanwhile, most in fdatasync(2) of the WAL (inferred)."
    )


def test_no_call_at_all_proves_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path, [(301, 0, 300)], [(305, 2000, 800)], "GET /")
    assert sentence(run) == "1 request of 500 ms and more: 100.0 % unknown."
    assert "not the disk" not in webpage.read(run).text


def test_nothing_to_say(tmp_path: Path) -> None:
    assert sentence(run_of(tmp_path, [(301, 0, 300)], [])) is None
    run = build.run_dir(tmp_path / "other", build.cascade())
    assert sentence(run) is None


@pytest.mark.parametrize(
    ("own", "other", "pieces"),
    [
        ([], [], [((0, 10), 2)]),
        ([(0, 10)], [(0, 10)], [((0, 10), 0)]),
        (
            [(2, 4)],
            [(0, 3), (4, 6)],
            [
                ((0, 2), 1),
                ((2, 4), 0),
                ((4, 6), 1),
                ((6, 10), 2),
            ],
        ),
        ([(-5, 2), (8, 20)], [], [((0, 2), 0), ((2, 8), 2), ((8, 10), 0)]),
    ],
)
def test_pieces_of_a_window(
    own: list[tuple[int, int]],
    other: list[tuple[int, int]],
    pieces: list[tuple[tuple[int, int], int]],
) -> None:
    assert list(layered((0, 10), [Cover(own), Cover(other)])) == pieces
