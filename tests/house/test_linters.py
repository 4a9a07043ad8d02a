# SPDX-License-Identifier: GPL-2.0-only
"""test_linters: run each linter over all files of its language."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tree import FILES, groups, import_root, python_files, tracked

from driver import unpacked
from machine import cache
from support import PROJECT

PYTHON = python_files(FILES)
CONFIG = PROJECT / "pyproject.toml"
Done = subprocess.CompletedProcess[str]
SHEBANG = re.compile(rb"#!.*\b(?:ba)?sh$")
SHELL = [p for p in FILES if SHEBANG.match(p.read_bytes()[:64].partition(b"\n")[0])]


def _run(*command: str, **environment: str) -> Done:
    return subprocess.run(
        command,
        cwd=PROJECT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _green(done: Done) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


def _ruff(files: list[Path], *words: str) -> Done:
    """Run ruff over the files, extensionless ones included."""
    return _run(sys.executable, "-m", "ruff", *words, "--no-cache", *map(str, files))


def _mypy(files: list[Path], known: Path) -> list[Done]:
    """Run mypy over each group of files, with one cache.

    Imports are resolved as at run time: from the file's folder first. Scripts of a
    group are modules of their names; a script alone may import a package of its name.
    """
    command = [sys.executable, "-m", "mypy", "--config-file", str(CONFIG)]
    folders = ":".join(dict.fromkeys(str(import_root(path)) for path in files))
    command += ["--cache-dir", str(known)]
    named = "--scripts-are-modules"
    return [
        _run(*command, *[named][: len(group) - 1], *map(str, group), MYPYPATH=folders)
        for group in groups(files)
    ]


def test_ruff() -> None:
    _green(_ruff(PYTHON, "check"))


def test_ruff_format() -> None:
    _green(_ruff(PYTHON, "format", "--check"))


def test_mypy() -> None:
    """It keeps what it knows of files by their contents."""
    for done in _mypy(PYTHON, cache.root() / "mypy"):
        _green(done)


ILL_TYPED = "#!/usr/bin/env python3\nimport os\n\nnumber: int = '{}'\n"


def test_a_new_file_is_linted_and_typed_in_any_folder(tmp_path: Path) -> None:
    """Without an extension, with a hyphen, and with a name that exists elsewhere."""
    names = ("bin/program", "bin/with-hyphen.py", "other/program", "other/program.py")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(ILL_TYPED.format(name))
    (tmp_path / "bin/shell").write_text("#!/bin/sh\n")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    files = python_files(tracked(tmp_path))
    assert [str(path.relative_to(tmp_path)) for path in files] == sorted(names)
    ours = ("--config", str(CONFIG))
    linted = _ruff(files, "check", *ours, "--output-format=concise").stdout
    formatted = _ruff(files, "format", "--check", *ours).stdout
    typed = "".join(done.stdout for done in _mypy(files, tmp_path / "cache"))
    for path in files:
        assert f"{path}:2:8: F401" in linted
        assert f"--> {path}:" in formatted
        assert f"{path}:4: error: Incompatible types in assignment" in typed


def test_shellcheck() -> None:
    assert SHELL
    _green(_run("shellcheck", "--exclude=SC1091", *map(str, SHELL)))


# checkpatch types to ignore by file (checkpatch --list-types): for code that is not a
# patch for the newest kernel, and for idioms of the kernel.
IGNORED = {
    # A table of X(NAME, HOW, DESCRIPTION) expands to declarations, not to expressions.
    "attrs.h": {"COMPLEX_MACRO", "MACRO_ARG_REUSE"},
    "configfs.c": {"COMPLEX_MACRO", "MACRO_ARG_UNUSED", "TRAILING_SEMICOLON"},
    "main.c": {
        *("COMPLEX_MACRO", "MACRO_ARG_REUSE", "MACRO_ARG_UNUSED"),
        "TRAILING_SEMICOLON",
    },
    "spec.c": {"MACRO_ARG_REUSE", "MACRO_ARG_UNUSED"},
    # Older kernels: version checks, and names of later types.
    "compat.h": {
        *("CONSTANT_COMPARISON", "LINUX_VERSION_CODE", "MACRO_ARG_REUSE"),
        *("DEPRECATED_API", "NEW_TYPEDEFS"),
    },
    "compat_block.h": {"CONSTANT_COMPARISON", "LINUX_VERSION_CODE", "NEW_TYPEDEFS"},
    "rule.c": {"ALLOC_WITH_SIZEOF"},  # kvmalloc_obj() is of 7.0
    # NOKPROBE_SYMBOL() stands behind its function
    "catch.c": {"LINE_SPACING"},
    "hook.c": {"LINE_SPACING"},
    # The lists that enums, names and the tracepoint's symbols are made from
    "names.h": {"COMPLEX_MACRO", "MACRO_ARG_REUSE", "MACRO_ARG_UNUSED"},
    "names.c": {"COMPLEX_MACRO", "MACRO_ARG_REUSE", "MACRO_ARG_UNUSED"},
    "record.c": {"SPLIT_STRING"},  # a line of JSON, not a message to be searched for
    "trace.h": {  # like all TRACE_EVENT()
        *("OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"),
        *("COMPLEX_MACRO", "MACRO_ARG_UNUSED", "TRAILING_SEMICOLON"),
    },
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
        pytest.skip("no checkpatch.pl: set CHECKPATCH to a kernel's")
    options = ("--no-tree", "--strict", "--terse", "--show-types", "--no-summary")
    said = subprocess.run(
        ["perl", CHECKPATCH, *options, "--file", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not said.stderr
    ignored = IGNORED.get(path.name, set())
    lines = said.stdout.splitlines()
    found = [line for line in lines if line.split(":")[3] not in ignored]
    assert not found, "\n".join(found)


def test_vagrantfile_is_valid() -> None:
    words = ["env", f"--chdir={PROJECT}", "vagrant", "validate"]
    _green(_run(*unpacked.command(words, [PROJECT])))
