# SPDX-License-Identifier: GPL-2.0-only
"""This test will build the package, and run its demo from what was built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from support import PROJECT

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "analysis", "base")


def copied(to: Path) -> Path:
    """The package's sources elsewhere: a build leaves folders beside them."""
    to.mkdir()
    for name in SOURCES:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, to / name)
        else:
            shutil.copy(PROJECT / name, to)
    return to


def test_the_demo_runs_from_a_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    build += ["--no-build-isolation", "--wheel-dir", str(tmp_path), "."]
    subprocess.run(build, cwd=copied(tmp_path / "source"), check=True)
    (wheel,) = tmp_path.glob("writestall-*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    words = ["demo", "--no-browser", "-o", str(tmp_path / "demo")]
    done = subprocess.run(
        [sys.executable, "-m", "writestall", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "waiting for vdb through jbd2's commit" in done.stdout
    assert (tmp_path / "demo/report.html").stat().st_size > 10_000
