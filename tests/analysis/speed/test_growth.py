# SPDX-License-Identifier: GPL-2.0-only
"""This test will count the lines of Python executed for five times the events.

A count is the same on every machine, however busy. What C does behind one line (sort,
slice, decode) is not in it; `make bench-analysis` measures that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import replay
from executed_lines import lines_run
from linked_stacks import STACKS as LINKED_STACKS
from log_stacks import Shown
from made_stacks import STACKS
from writestall.cli.main import main
from writestall.log import reading
from writestall.log.headline import sentence
from writestall.log.links import explain_log

SMALL, TIMES = 2_000, 5
# The tolerance covers where the stalls are: 5.1 times as many. Quadratic would be 25.
MOST = 5.5


def with_a_long_sleep(run: Path) -> None:
    """Add a flusher that sleeps with a bio from begin to end."""
    path = run / "events" / f"{replay.ENGINE}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    begin, end = json.loads(lines[0]), json.loads(lines[-1])
    long = {"ev": "block", "t_ns": begin["t_ns"], "tid": 7, "comm": "kworker/u8:7"}
    long["dur_ns"] = end["t_ns"] - begin["t_ns"]
    long["kstack"] = STACKS["flusher_submit"]
    lines.insert(1, json.dumps(long).encode() + b"\n")
    path.write_bytes(b"".join(lines))


def as_it_is(_: Path) -> None:
    """Leave the run unchanged."""


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
    """Including a run in which one sleep lasts as long as all others together."""
    counts = []
    for events in (SMALL, SMALL * TIMES):
        run = replay.make(tmp_path / str(events), events)
        change(run)
        counts.append(lines_run(partial(main, [command, str(run)])))
    assert counts[1] <= MOST * counts[0], counts


CHUNK = 1 << 16
FAR = b"Aug  3 11:22:33 vault dhclient[812]: DHCPREQUEST on eth0 to 10.1.2.3 port 67\n"
STACK = b"".join(
    b"Aug  3 11:22:33 vault kernel: %b\n" % line
    for line in (
        b"INFO: task tar:4411 blocked for more than 122 seconds.",
        b"task:tar             state:D stack:0     pid:4411  tgid:4411  ppid:1",
        b"Call Trace:",
        *(b" %b+0x15/0x90" % name for name in (b"__schedule", b"submit_bio_wait")),
    )
)


def read_lines(log: bytes, stacks: int) -> int:
    """Lines run to read a log, in which so many stacks are found."""

    def read() -> None:
        found = reading.read(log[at : at + CHUNK] for at in range(0, len(log), CHUNK))
        assert len(found.tasks) == stacks

    return lines_run(read)


@pytest.mark.parametrize(
    ("once", "times", "most"),
    [
        # Stacks that follow each other.
        ((STACK, 40), (STACK, 200), MOST),
        # Lines far from any stack: the file is only sampled there.
        ((FAR, 4_000), (FAR, 20_000), MOST),
    ],
)
def test_five_times_the_log_is_five_times_the_work(
    once: tuple[bytes, int], times: tuple[bytes, int], most: float
) -> None:
    counts = []
    for line, count in (once, times):
        log = line * count + FAR * 100 + STACK
        counts.append(read_lines(log, 1 + (count if line is STACK else 0)))
    assert counts[1] <= most * counts[0], counts


def test_five_times_the_stuck_tasks_are_five_times_the_work() -> None:
    """Of all kinds, to the first line of the answer: no pair of tasks is compared."""

    def answered() -> None:
        assert sentence(explain_log(found), "log")

    counts = []
    for times in (10, 50):
        tasks = [
            Shown(name[:15], 1_000 + at, stack)
            for at, (name, stack) in enumerate(list(LINKED_STACKS.items()) * times)
        ]
        lines = [line for task in tasks for line in task.report()]
        found = reading.read_log(lines)
        assert len(found) == len(tasks)
        counts.append(lines_run(answered))
    assert counts[1] <= MOST * counts[0], counts


def test_lines_far_from_any_stack_are_skipped() -> None:
    """Less than one line of Python for two of them."""
    few, many = (read_lines(FAR * count + STACK, 1) for count in (1_000, 101_000))
    assert many - few < 50_000, (few, many)
