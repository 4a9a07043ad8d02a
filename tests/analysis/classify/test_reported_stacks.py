# SPDX-License-Identifier: GPL-2.0-only
"""This test will classify stacks of public bug reports, if they are present.

helpers/reported_stacks.py says where they are.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from reported_stacks import reported_cases
from writestall.log.links import Stuck, explain_log
from writestall.log.reading import read_log

LEAST = 0.95
# Wrong labels, and why; they are counted separately, neither right nor wrong.
WRONG_ROLE = {
    # open(O_CREAT) makes an inode; it neither writes nor waits for data written. The
    # same set calls a task in utimensat() and one in stat() `other`.
    "s067": "an open is no write",
}


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    """The labelled stacks; skipped where they are not there."""
    return reported_cases()


def stuck(case: dict[str, Any]) -> Stuck:
    """The only task in the text of a case."""
    answer = explain_log(read_log(case["stack"].splitlines()))
    assert len(answer.tasks) == 1, case["id"]
    return answer.tasks[0]


def test_classes(cases: list[dict[str, Any]]) -> None:
    """The label, or its alternative."""
    wrong = [
        (case["id"], found, case["label"])
        for case in cases
        if (found := stuck(case).verdict.cls) not in (case["label"], case["alt"])
    ]
    assert len(wrong) <= (1 - LEAST) * len(cases), wrong


def test_roles(cases: list[dict[str, Any]]) -> None:
    """Writer, writeback, journal or other."""
    judged = [case for case in cases if case["id"] not in WRONG_ROLE]
    wrong = [
        (case["id"], found, case["role"])
        for case in judged
        if (found := stuck(case).role) != case["role"]
    ]
    assert len(wrong) <= (1 - LEAST) * len(judged), wrong


def test_names(cases: list[dict[str, Any]]) -> None:
    """If the text names the task, the name is found."""
    heads = r"(task[ :]{comm}\b|^\W*(.*kernel: *|\[.*\] *)?{comm} +D\b)"
    named = [
        case
        for case in cases
        if case["comm"]
        and re.search(heads.format(comm=re.escape(case["comm"])), case["stack"], re.M)
    ]
    assert len(named) >= len(cases) / 2
    wrong = [case["id"] for case in named if stuck(case).task.comm != case["comm"]]
    assert len(wrong) <= (1 - LEAST) * len(named), wrong


def test_chains_in_reports(cases: list[dict[str, Any]]) -> None:
    """A wait for the journal ends at the same report's journal, if it is active."""
    reports: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        reports.setdefault(case["report"], []).append(case)
    judged = 0
    for report, rows in reports.items():
        text = "\n\n".join(row["stack"] for row in rows)
        answer = explain_log(read_log(text.splitlines()))
        assert len(answer.tasks) >= len({(r["comm"], r["stack"]) for r in rows}) - 1
        commits = [t for t in answer.tasks if t.task.comm and "jbd2/" in t.task.comm]
        if len(commits) != 1 or commits[0].verdict.cls == "journal_transaction":
            continue
        for at, task in enumerate(answer.tasks):
            if task.verdict.cls in ("journal_buffer", "journal_commit_wait"):
                judged += 1
                assert answer.links[at].holder is commits[0], (report, task.name)
    assert judged >= 5
