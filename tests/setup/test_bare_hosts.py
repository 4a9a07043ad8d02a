# SPDX-License-Identifier: GPL-2.0-only
"""This test will start the program on hosts whose Python is too old, or has no venv."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from driver.commands import setup
from support import PROJECT
from writestall_base.errors import UserError

PROGRAM = PROJECT / "writestall"
OLD = "import runpy, sys; sys.version_info = ({}); runpy.run_path({!r})"
# As Debian has Python without python3-venv: the module venv is there, ensurepip not.
BARE = """
import importlib.util, runpy, sys
found = importlib.util.find_spec
def find(name, *more):
    return None if name == "ensurepip" else found(name, *more)
importlib.util.find_spec = find
sys.argv = [{0!r}, *{1!r}]
runpy.run_path({0!r}, run_name="__main__")
"""


def python(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-B", "-c", code],
        env={"PATH": os.defpath, "HOME": str(home), "XDG_CACHE_HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("version", ["3, 8, 18", "3, 10, 13"])
def test_an_old_python_is_reported_in_one_line(version: str, tmp_path: Path) -> None:
    done = python(OLD.format(version, str(PROGRAM)), tmp_path)
    found = version.replace(", ", ".")
    assert done.stderr == f"writestall: needs Python 3.11 or newer, this is {found}\n"
    assert done.returncode == 2


def test_an_old_python_can_read_the_launcher() -> None:
    ast.parse(PROGRAM.read_text(), feature_version=(3, 8))


@pytest.mark.parametrize("words", [["demo"], ["course", "list"]], ids=" ".join)
def test_a_python_without_venv_is_reported_in_one_line(
    words: list[str], tmp_path: Path
) -> None:
    done = python(BARE.format(str(PROGRAM), words), tmp_path)
    message = f"writestall {words[0]}: python3 has no venv; install "
    assert done.stderr.startswith(message) and len(done.stderr.splitlines()) == 1
    assert done.returncode == 2
    assert not list(tmp_path.rglob("bin"))


def test_the_package_that_has_venv_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "ensurepip" else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find)
    with pytest.raises(UserError, match=r"python3-venv \(apt\), python3-libs \(dnf\)"):
        setup.python(("export",))
