# SPDX-License-Identifier: GPL-2.0-only
"""This test will look for one step to take for every class of wait and every root."""

from __future__ import annotations

import re

import pytest

from linked_stacks import STACKS
from log_stacks import Shown, explained
from writestall.classify import named_waits
from writestall.classify.named_waits import NamedWait
from writestall.classify.rules import OVERRIDES, RULES
from writestall.log import next_steps
from writestall.log.text import log_json, report
from writestall_base.wait_classes import WAIT_CLASSES

NAMED = sorted({rule.named for rule in (*OVERRIDES, *RULES) if rule.named})
LINE = "INFO: task {}:{} is blocked on a mutex likely owned by task {}:{}."
FIRST = Shown("one", 1, STACKS["orphan"])


def step(*lines: str | list[str]) -> str:
    """The second line of the answer."""
    answer = explained(*lines)
    second = list(report(answer, "log"))[1]
    assert second.startswith("next: ") and log_json(answer)["next"] in second
    return second


@pytest.mark.parametrize("cls", WAIT_CLASSES)
def test_every_class_has_a_step(cls: str) -> None:
    assert next_steps.CLASSES[cls].text and next_steps.CLASSES[cls].source


def test_no_step_is_of_a_class_that_is_gone() -> None:
    assert set(next_steps.CLASSES) == set(WAIT_CLASSES)


def test_every_named_wait_is_that_of_a_rule() -> None:
    waits = {one for one in vars(named_waits).values() if isinstance(one, NamedWait)}
    assert waits == set(NAMED) and len({one.words for one in waits}) == len(waits)


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        (STACKS["commit"], "iostat"),
        ("schedule percpu_rwsem_wait __percpu_down_read vfs_write", "fsfreeze -u"),
        ("schedule request_wait_answer/fuse fuse_file_write_iter/fuse", "server"),
        (STACKS["throttled"], "dirty"),
        (STACKS["array"], "stripe_cache_size"),
        ("schedule wait_barrier/raid10 raid10_make_request/raid10", "mdstat"),
        ("schedule raise_barrier/raid10 raid10_sync_request/raid10", "inflight"),
        ("schedule bch_data_insert/bcache cached_dev_submit_bio/bcache", "mdstat"),
        (STACKS["kswapd"], "memory"),
        (
            "schedule __mutex_lock rtnl_lock dev_ioctl",
            "inside dev_ioctl(), dev_ethtool",
        ),
        ("schedule __mutex_lock odd_function", "same function or driver"),
        (
            "schedule wait_for_completion __flush_work odd_function",
            "worker of the work",
        ),
        ("schedule odd_function", "take all stacks"),
    ],
)
def test_the_step_fits_the_root(stack: str, words: str) -> None:
    assert words in step(Shown("task", 1, stack).report())


def test_the_step_is_that_of_the_root_not_of_the_waiter() -> None:
    assert "iostat" in step(
        Shown("db", 1, STACKS["fsync"]).report(),
        Shown("jbd2/sda1-8", 2, STACKS["commit"]).report(),
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([FIRST.report(LINE.format("one", 1, "gone", 2))], "/proc/2/stack"),
        (
            [
                FIRST.report(LINE.format("one", 1, "runs", 2)),
                Shown("runs", 2, STACKS["orphan"], state="R").lines(),
            ],
            "perf record -p 2",
        ),
        (
            [
                FIRST.report(LINE.format("one", 1, "rests", 2)),
                Shown("rests", 2, STACKS["orphan"], state="S").lines(),
            ],
            "strace -p 2",
        ),
        ([FIRST.report(LINE.format("one", 1, "one", 1))], "report"),
        (
            [
                FIRST.report(LINE.format("one", 1, "two", 2)),
                Shown("two", 2, STACKS["truncates"]).report(
                    LINE.format("two", 2, "one", 1)
                ),
            ],
            "deadlock",
        ),
    ],
)
def test_roots_that_are_no_class(rows: list[list[str]], words: str) -> None:
    assert words in step(*rows)


@pytest.mark.parametrize(
    "step_of",
    [*next_steps.CLASSES.values(), *(one.step for one in NAMED if one.text)],
)
def test_a_step_is_one_sentence_with_a_source(step_of: named_waits.Step) -> None:
    assert not re.search(r"[.;] [A-Z]", step_of.text) and len(step_of.text) < 200
    assert re.search(r"\(\d\)|Documentation/|(block|kernel|fs)/", step_of.source)
