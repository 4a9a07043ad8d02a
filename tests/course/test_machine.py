# SPDX-License-Identifier: GPL-2.0-only
"""This test will end `writestall lab` in several ways below `course start`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from writestall.course import checkout, machine
from writestall_base.errors import UserError


@pytest.mark.parametrize(
    ("status", "why"), [(130, "interrupted"), (1, "the run failed; see above")]
)
def test_a_run_that_did_not_end_says_how_to_start_again(
    status: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tmp_path / "lab"
    lab.write_text(f"#!/bin/sh\nexit {status}\n")
    lab.chmod(lab.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(checkout, "program", lambda: lab)
    with pytest.raises(UserError) as caught:
        machine.run(tmp_path, 2, "page-lock", [])
    again = "./writestall course reset 2, and start it again"
    assert caught.value.lines == (f"lab 2: {why}; {again}",)
    assert caught.value.status == status
