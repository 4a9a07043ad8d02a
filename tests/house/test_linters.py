# SPDX-License-Identifier: GPL-2.0-only
"""test_linters: every linter the project holds itself to, one test each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from test_house import FILES

from support import PROJECT

PYTHON = [
    p for p in FILES if p.suffix == ".py" or p.name in ("program", "run", "trace")
]
SHEBANG = re.compile(rb"#!.*\b(?:ba)?sh$")
SHELL = [p for p in FILES if SHEBANG.match(p.read_bytes()[:64].partition(b"\n")[0])]


def _passes(*command: str) -> None:
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff() -> None:
    _passes(sys.executable, "-m", "ruff", "check", "--no-cache", ".")


def test_ruff_format() -> None:
    _passes(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.parametrize(
    "paths",
    [
        ("analysis", "tests/analysis"),
        ("vm/machine",),
        ("lab/driver",),
        ("repro/labrun",),
    ],
    ids=" ".join,
)
def test_mypy(paths: tuple[str, ...]) -> None:
    _passes(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *paths)


def test_shellcheck() -> None:
    assert SHELL
    _passes("shellcheck", "--exclude=SC1091", *map(str, SHELL))


def test_vagrantfile_is_valid() -> None:
    if not shutil.which("vagrant"):
        pytest.skip(
            "no vagrant on this machine: make setup installs it where Debian has it"
        )
    plugins = subprocess.run(
        ["vagrant", "plugin", "list"], capture_output=True, text=True, check=False
    )
    without = [] if "vagrant-libvirt" in plugins.stdout else ["--ignore-provider"]
    _passes("vagrant", "validate", *without)
