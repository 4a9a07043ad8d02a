# SPDX-License-Identifier: GPL-2.0-only
"""This test will record where the kernel's log cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorder import recording
from recorder.say import Voice
from writestall_base.progress import Progress
from writestall_base.steps import Run
from writestall_base.stop import Stop


def test_a_container_without_kmsg_is_reported_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path / "run", Progress("none"), Stop(""))
    missing = tmp_path / "kmsg"
    with recording._log_saved(run, Voice(silent=False), missing):
        pass
    assert f"{missing}: No such file" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
