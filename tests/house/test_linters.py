# SPDX-License-Identifier: GPL-2.0-only
"""test_linters: every linter the project holds itself to, one test each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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
        ("trace/launcher", "trace/drill"),
    ],
    ids=" ".join,
)
def test_mypy(paths: tuple[str, ...]) -> None:
    _passes(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, *paths)


def test_shellcheck() -> None:
    assert SHELL
    _passes("shellcheck", "--exclude=SC1091", *map(str, SHELL))


# What checkpatch says of code that is not a patch for the newest kernel, or of
# idioms of the kernel's own: file, then types (checkpatch --list-types).
NOT_MEANT = {
    # A table of X(NAME, DESCRIPTION) makes lists of declarations, not expressions.
    "attrs.h": {"COMPLEX_MACRO", "MACRO_ARG_REUSE"},
    "configfs.c": {"COMPLEX_MACRO", "MACRO_ARG_UNUSED", "TRAILING_SEMICOLON"},
    "main.c": {
        *("COMPLEX_MACRO", "MACRO_ARG_REUSE", "MACRO_ARG_UNUSED"),
        "TRAILING_SEMICOLON",
    },
    "spec.c": {"MACRO_ARG_REUSE"},
    # Older kernels: a release where no interface tells, names of later types.
    "compat.h": {
        *("CONSTANT_COMPARISON", "LINUX_VERSION_CODE", "MACRO_ARG_REUSE"),
        *("DEPRECATED_API", "NEW_TYPEDEFS"),
    },
    "compat_block.h": {"CONSTANT_COMPARISON", "LINUX_VERSION_CODE", "NEW_TYPEDEFS"},
    "rule.c": {"ALLOC_WITH_SIZEOF"},  # kvmalloc_obj() is of 7.0
    "hook.c": {"LINE_SPACING"},  # NOKPROBE_SYMBOL() stands behind its function
    "record.c": {"SPLIT_STRING"},  # a line of JSON, no message to be searched for
    "trace.h": {"OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"},  # as all TRACE_EVENT()
}
CHECKPATCH = os.environ.get("CHECKPATCH") or next(
    map(str, Path("/usr/src").glob("*/scripts/checkpatch.pl")), ""
)


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.parent.name == "kmod" and p.suffix in (".c", ".h", ".S")],
    ids=lambda path: path.name,
)
def test_checkpatch(path: Path) -> None:
    if not CHECKPATCH:
        pytest.skip("no checkpatch.pl: name a kernel's by CHECKPATCH=/...")
    ways = ("--no-tree", "--strict", "--terse", "--show-types", "--no-summary")
    said = subprocess.run(
        ["perl", CHECKPATCH, *ways, "--file", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not said.stderr
    ignored = NOT_MEANT.get(path.name, set())
    lines = said.stdout.splitlines()
    meant = [line for line in lines if line.split(":")[3] not in ignored]
    assert not meant, "\n".join(meant)


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
