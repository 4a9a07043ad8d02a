# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain kernel logs that our guests wrote while writes stalled.

tests/data/logs: `sysrq w` every 0.4 s with hung-task reports between, two CPUs printing
at once; and /proc/PID/stack of jbd2 and the writer at the same moments.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from writestall.log.links import LogAnswer, explain_log
from writestall.log.reading import read_log

LOGS = Path(__file__).parents[2] / "data" / "logs"


def explained(name: str) -> LogAnswer:
    """The answer to one of the logs."""
    text = gzip.decompress((LOGS / f"{name}.txt.gz").read_bytes()).decode()
    return explain_log(read_log(text.splitlines()))


def paths(answer: LogAnswer) -> set[tuple[str, ...]]:
    """The classes along each path."""
    return {
        tuple(answer.tasks[step].verdict.cls for step in answer.path(at))
        for at in range(len(answer.tasks))
    }


@pytest.mark.parametrize("name", ["dmesg-page-lock-7.2", "dmesg-journal-buffer-6.12"])
def test_the_cascade_in_a_log(name: str) -> None:
    """Writer <- page lock <- flusher <- journal buffer <- jbd2 <- disk."""
    answer = explained(name)
    found = paths(answer)
    assert ("page_lock", "journal_buffer", "device_io") in found
    assert ("journal_buffer", "device_io") in found
    ends = {answer.tasks[answer.path(at)[-1]].task.comm for at in answer.links}
    assert ends == {"jbd2/vdb-8"}


def test_the_cascade_in_proc_stacks() -> None:
    """Without names and sleep functions, the writer still waits for the commit."""
    answer = explained("procstack-journal-buffer-7.2")
    assert ("journal_buffer", "device_io") in paths(answer)
    assert answer.not_stuck > 0


def test_roles_of_the_lab() -> None:
    """Each task of the lab has its role in every stack that names it."""
    answer = explained("dmesg-journal-buffer-6.12")
    roles = {(task.task.comm or "").split("/")[0]: task.role for task in answer.tasks}
    want = {"jbd2": "journal", "kworker": "writeback", "latwriter": "writer"}
    assert roles == want
