# SPDX-License-Identifier: GPL-2.0-only
"""This test will call `writestall dev render`, which starts the programs of docs/."""

from __future__ import annotations

from support import PROJECT, tool


def test_every_program_is_named_and_finds_its_libraries() -> None:
    programs = sorted((PROJECT / "docs").glob("render-*.py"))
    done = tool("writestall", "dev", "render", "nonsense")
    names = ", ".join(path.stem.removeprefix("render-") for path in programs)
    assert done.stderr == f"writestall render: unknown 'nonsense'; use {names}\n"
    assert done.returncode == 2
    done = tool("writestall", "dev", "render", "events", "locks", "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
