# SPDX-License-Identifier: GPL-2.0-only
"""test_without_libraries: a host that is recorded or watched has Python alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support import PROJECT


@pytest.mark.parametrize("command", ["record", "watch", "explain"])
def test_help_needs_no_library(command: str) -> None:
    alone = [sys.executable, "-E", "-S", str(PROJECT / "writestall")]
    done = subprocess.run(
        [*alone, command, "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: writestall {command}")


def test_a_recording_loads_no_scenario() -> None:
    folders = [str(PROJECT / name) for name in ("base", "analysis", "repro", "trace")]
    loaded = "import sys, recorder.recording; print(*sys.modules, sep='\\n')"
    code = f"import sys; sys.path[:0] = {folders}; {loaded}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = done.stdout.split()
    assert "labrun.run.tracer" in modules
    assert not [one for one in modules if one.startswith("labrun.scenario")]
