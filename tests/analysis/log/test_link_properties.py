# SPDX-License-Identifier: GPL-2.0-only
"""This test will search for logs with links between tasks that cannot be linked."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linked_stacks import STACKS
from log_stacks import Shown
from writestall.log.links import REPORTED, explain_log
from writestall.log.reading import LoggedTask, read_log

NAMES = sorted(STACKS)
WORKS = ("", "writeback wb_workfn (flush-8:0)", "writeback wb_workfn (flush-8:16)")
FORMS = (
    "is blocked on a mutex likely owned by task t{}:{}.",
    "blocked on a semaphore likely last held by task t{}:{}",
    "<reader> blocked on an rw-semaphore likely owned by task t{}:{} <writer>",
)
tasks = st.builds(
    lambda name, pid, work, state: Shown(f"t{pid}", pid, STACKS[name], work, state),
    st.sampled_from(NAMES),
    st.integers(1, 9),
    st.sampled_from(WORKS),
    st.sampled_from("DDDDSR"),
)
owners = st.tuples(st.sampled_from(FORMS), st.integers(1, 12))
MARKS = st.sampled_from(["", "", "", "sysrq: Show Blocked State", "noise +0x1/0x2"])
logs = st.lists(st.tuples(MARKS, tasks, st.none() | owners), max_size=8)
EXAMPLES = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# The file systems that each stack may belong to, by function names.
KINDS = ("ext4", "xfs", "btrfs", "zfs", "f2fs")
JOURNALLED = {"jbd2": "ext4"}
# Rules about a lower device or about memory may link any two.
STACKED = ("array", "works for", "reclaims memory", "inside the module")


def lines(log: Sequence[tuple[str, Shown, tuple[str, int] | None]]) -> list[str]:
    """The text of a random log."""
    text: list[str] = []
    for mark, task, owner in log:
        text += [mark] if mark else []
        form, pid = owner or ("", 0)
        said = f"INFO: task {task.comm}:{task.pid} " + form.format(pid, pid)
        text += task.report(*([said] if owner else []))
    return text


def kinds(task: LoggedTask) -> set[str]:
    """The file systems whose modules are on a stack."""
    modules = {frame.module or "" for frame in task.frames}
    return {JOURNALLED.get(name, name) for name in modules} & set(KINDS)


@given(logs)
@EXAMPLES
def test_reported_only_repeats_the_kernel(
    log: list[tuple[str, Shown, tuple[str, int] | None]],
) -> None:
    text = lines(log)
    answer = explain_log(read_log(text))
    for link in answer.links.values():
        if link.confidence == REPORTED:
            waiter, holder = link.waiter.task.pid, link.holder.task.pid
            said = [
                t
                for t in text
                if f":{waiter} " in t and f"task t{holder}:{holder}" in t
            ]
            assert said, (waiter, holder)


@given(logs)
@EXAMPLES
def test_no_guess_joins_two_file_systems_or_two_shots(
    log: list[tuple[str, Shown, tuple[str, int] | None]],
) -> None:
    answer = explain_log(read_log(lines(log)))
    for link in answer.links.values():
        assert link.waiter.shots & link.holder.shots
        if link.confidence == REPORTED or any(word in link.why for word in STACKED):
            continue
        one, other = kinds(link.waiter.task), kinds(link.holder.task)
        assert not one or not other or one & other, (link.why, one, other)


@given(logs, st.lists(st.sampled_from(["alpha", "beta"]), min_size=8, max_size=8))
@EXAMPLES
def test_no_link_joins_two_hosts(
    log: list[tuple[str, Shown, tuple[str, int] | None]], hosts: list[str]
) -> None:
    found = read_log(lines(log))
    for task, host in zip(found, hosts * len(found), strict=False):
        task.host = host
    answer = explain_log(found)
    for link in answer.links.values():
        assert link.waiter.task.host == link.holder.task.host


@given(st.text(max_size=400), logs)
@EXAMPLES
def test_any_text_is_answered(
    text: str, log: list[tuple[str, Shown, tuple[str, int] | None]]
) -> None:
    """Every chain ends, and every index is valid."""
    answer = explain_log(read_log([*text.splitlines(), *lines(log)]))
    for at in range(len(answer.tasks)):
        assert len(answer.path(at)) <= len(answer.tasks) + 1


WORDS = st.text("abc+0x/[]()<>#:=. ", max_size=40)
distinct = st.lists(tasks, max_size=6, unique_by=lambda task: task.pid)
# Of which several may hold what one waits for.
TOGETHER = ("updates", "orphan", "extents", "throttled", "btrfs-waits", "btrfs-joined")
together = st.lists(
    st.builds(
        lambda name, pid: Shown(f"t{pid}", pid, STACKS[name]),
        st.sampled_from(TOGETHER),
        st.integers(1, 9),
    ),
    min_size=3,
    max_size=6,
    unique_by=lambda task: task.pid,
)


def joins(lines: Sequence[str]) -> set[tuple[str, str, str]]:
    """Waiter, holder and confidence of every link, and what the several that a waiter
    waits for come down to; tasks of one host alone."""
    answer = explain_log(read_log(lines))
    links = {
        (link.waiter, link.holder, link.confidence) for link in answer.links.values()
    }
    links |= {
        (answer.tasks[at], answer.tasks[end], "whichever")
        for at, end in answer.whichever.items()
    }
    return {
        (waiter.task.comm or "", end.task.comm or "", how)
        for waiter, end, how in links
        if waiter.task.host in ("", "alpha")
    }


def reports(shown: Sequence[Shown], host: str = "alpha") -> list[list[str]]:
    """The reports of one moment, as the syslog of a host has them."""
    return [
        [f"Nov  3 11:22:33 {host} kernel: {row}" for row in task.report()]
        for task in shown
    ]


@pytest.mark.parametrize("text", ["", "in f+0x1f/0x2a", "a:1 </TASK>"])
def test_lines_of_another_program_cut_no_stack(text: str) -> None:
    """Many of them in one place, wherever that is."""
    mine = [
        Shown("t1", 1, STACKS["page"], "", "D"),
        Shown("t2", 2, STACKS["under-writeback"], "", "D"),
    ]
    lines = [row for report in reports(mine) for row in report]
    found = joins(lines)
    assert found
    for at in range(1, len(lines) + 1):
        others = [f"Nov  3 11:22:33 alpha sshd[7]: {text}"] * 12
        assert joins([*lines[:at], *others, *lines[at:]]) == found


@given(distinct, distinct, st.lists(WORDS, max_size=20), st.randoms())
@EXAMPLES
def test_what_is_unrelated_changes_no_link(
    mine: list[Shown], theirs: list[Shown], words: list[str], random: Random
) -> None:
    """Other programs' lines, and another host's log, wherever they stand."""
    lines = [row for report in reports(mine) for row in report]
    others = [f"Nov  3 11:22:33 alpha sshd[7]: {text}" for text in words]
    others += [row for report in reports(theirs, "beta") for row in report]
    places = sorted(random.randrange(len(lines) + 1) for _ in others)
    mixed = list(lines)
    for at, row in reversed(list(zip(places, others, strict=True))):
        mixed.insert(at, row)
    assert joins(mixed) == joins(lines)


@given(distinct | together, st.randoms())
@EXAMPLES
def test_the_order_of_reports_changes_no_link(
    shown: list[Shown], random: Random
) -> None:
    """Which task the detector finds first tells nothing."""
    ordered = reports(shown)
    turned = list(ordered)
    random.shuffle(turned)
    one, other = (joins([row for r in rows for row in r]) for rows in (ordered, turned))
    assert one == other
