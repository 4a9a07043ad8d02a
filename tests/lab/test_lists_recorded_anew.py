# SPDX-License-Identifier: GPL-2.0-only
"""This test will record one case of lock_lists in a machine whose kernel has lockdep,
and find in its log tasks that wait, with their stacks, and lists of held locks."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

from machine import recipe
from machine.own import building
from support import OWN, tool

CASE = "ext4-mixed"
SNAPSHOT = re.compile(r"^# snapshot (\w+)$", re.MULTILINE)
# What only a stack of a task that waits has: it begins with the scheduler.
WAITS = re.compile(r"state:D .*\n.*Call Trace:\n.*<TASK>\n.* __schedule\+")
# Who prints and reads the lists holds locks, too.
WHO = r"(?!bash/|cat/|khungtaskd/)\S+/\d+"
HOLDS = re.compile(rf"locks? held by {WHO}:\n.* #0: \w+ \(.*\)\{{.*\}}.*, at: \w+\+")


@pytest.fixture
def kernel() -> str:
    """A kernel that has lockdep: the one that is tested, or one that is built."""
    if not OWN:
        return str(building.tree(building.LOCKDEP))
    own = recipe.load(OWN).own
    if not own or "PROVE_LOCKING" not in own.options:
        pytest.skip(f"{OWN} has no lockdep (vm/lockdep.config)")
    return OWN


@pytest.mark.on_demand("compiles a kernel")
def test_a_case_has_who_waits_and_who_holds(kernel: str, tmp_path: Path) -> None:
    script = "tests/lab/lock_lists/record.py"
    done = tool(script, "--kernel", kernel, "--out", str(tmp_path), CASE)
    assert done.returncode == 0, done.stderr[-3000:]
    log = lzma.decompress((tmp_path / f"{CASE}.log.xz").read_bytes()).decode()
    before, *parts = SNAPSHOT.split(log)
    assert before == ""
    found = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(found) == ["1", "2", "3", "hung", "4"]
    for name, part in found.items():
        assert WAITS.search(part), f"snapshot {name}: no task waits"
        assert HOLDS.search(part), f"snapshot {name}: no lock is held"
    assert "blocked for more than" in found["hung"]
