# SPDX-License-Identifier: GPL-2.0-only
"""This test will count the lines of Python executed for five times the events.

A count is the same on every machine, however busy. What C does behind one line (sort,
slice, decode) is not in it; `make bench-analysis` measures that.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import replay
import writestall
from made_stacks import STACKS
from writestall.cli.main import main

PACKAGE = str(Path(writestall.__file__).parent)
SMALL, TIMES = 2_000, 5
# The rest is for how the stalls lie: 5.1 times as many. A square would be 25.
MOST = 5.5


def lines_run(call: Callable[[], object]) -> int:
    """Lines of the package that a call executes, each iteration of a loop counted."""
    count = 0

    def inside(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return inside

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        return inside if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def with_a_long_sleep(run: Path) -> None:
    """Adds a flusher that sleeps with a bio in its hands from begin to end."""
    path = run / "events" / f"{replay.ENGINE}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    begin, end = json.loads(lines[0]), json.loads(lines[-1])
    long = {"ev": "block", "t_ns": begin["t_ns"], "tid": 7, "comm": "kworker/u8:7"}
    long["dur_ns"] = end["t_ns"] - begin["t_ns"]
    long["kstack"] = STACKS["flusher_submit"]
    lines.insert(1, json.dumps(long).encode() + b"\n")
    path.write_bytes(b"".join(lines))


def as_it_is(_: Path) -> None:
    """Leaves a run alone."""


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("explain", as_it_is),
        ("explain", with_a_long_sleep),
        ("report", as_it_is),
        ("check", as_it_is),
    ],
)
def test_five_times_the_events_are_five_times_the_work(
    command: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    """Not more, also where one sleep lasts as long as all the others together."""
    counts = []
    for events in (SMALL, SMALL * TIMES):
        run = replay.make(tmp_path / str(events), events)
        change(run)
        counts.append(lines_run(partial(main, [command, str(run)])))
    assert counts[1] <= MOST * counts[0], counts
