# SPDX-License-Identifier: GPL-2.0-only
"""This test will find the stacks of a long log among lines that look like frames."""

from __future__ import annotations

import pytest

from linked_stacks import STACKS
from log_stacks import Shown
from writestall.log.near_stacks import LONG_BYTES, near_stacks
from writestall.log.reading import read

LINES = 40_000
NOISE = [
    f"Aug  3 11:22:{at % 60:02} vault "
    + (f"app[7]: in f{at}+0x1f/0x2a" if at % 6 == 0 else f"sshd[{at}]: Accepted {at}")
    for at in range(LINES)
]
HUNG = Shown("db", 41, STACKS["fsync"])
DEEP = Shown("deep", 42, f"{STACKS['fsync']} " + " ".join(f"f{at}" for at in range(90)))


def log(stack: list[str]) -> list[bytes]:
    """A long log in pieces, with a stack near its end."""
    place = LINES - 500
    lines = [*NOISE[:place], *stack, *NOISE[place:]]
    text = "\n".join(lines).encode()
    assert len(text) > LONG_BYTES
    return [text[at : at + 65536] for at in range(0, len(text), 65536)]


@pytest.mark.parametrize(
    "stack",
    [
        HUNG.report(),
        HUNG.lines(),
        ["# cat /proc/41/stack", "[<0>] jbd2_log_wait_commit+0x1/0x9 [jbd2]"],
        [f" {name}+0x1/0x9" for name in ("schedule", "jbd2_log_wait_commit")],
    ],
)
def test_a_stack_in_a_long_log(stack: list[str]) -> None:
    (task,) = [
        task
        for task in read(log(stack)).tasks
        if "jbd2_log_wait_commit" in [frame.symbol for frame in task.frames]
    ]
    assert task.frames


def test_a_stack_that_is_longer_than_what_is_passed_on() -> None:
    tasks = [task for task in read(log(DEEP.report())).tasks if task.pid == 42]
    assert [len(task.frames) for task in tasks] == [len(DEEP.stack.split())]


def test_lines_like_frames_are_passed_over() -> None:
    """Not one in ten of the lines is looked at."""
    passed = sum(1 for _ in near_stacks(log(HUNG.report())))
    behind = LONG_BYTES * LINES // sum(map(len, log([])))
    assert passed - behind < LINES // 10
