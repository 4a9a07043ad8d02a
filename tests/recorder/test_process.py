# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold a process, and see it end."""

from __future__ import annotations

import subprocess

import pytest

from recorder.process import held
from writestall_base.errors import UserError


def test_its_end_is_seen() -> None:
    with subprocess.Popen(["sleep", "600"]) as child, held(child.pid) as process:
        assert process and not process.ended()
        child.kill()
        child.wait()
        assert process.ended()


def test_nobody_is_held_where_nobody_was_chosen() -> None:
    with held(None) as process:
        assert process is None


def test_one_that_is_gone_is_refused() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    refused = pytest.raises(UserError, match=f"--pid {child.pid}: no such process")
    with refused, held(child.pid):
        pass
