# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that what docs/calls.toml lists is the same in both engines, in
the contract and in the records, and that a new call comes into all of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import render

from support import PROJECT

FILES = (
    "analysis/writestall/events/calls.py",
    "docs/events.md",
    "docs/events.schema.json",
    "stap/tapset/call_table.stp",
)
TABLE = "docs/calls.toml"
STALE = "stap/tapset/call_table.stp"
PROGRAM = "docs/render-calls.py"
NEW = 'quotactl = { nr = 179, group = "attributes", name = 2 }\n'


def test_the_tables_are_those_of_the_list() -> None:
    done = render.run(PROJECT, PROGRAM, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_new_call_comes_into_all(tmp_path: Path) -> None:
    tree = render.copy(tmp_path, (*FILES, TABLE, PROGRAM))
    table = tree / TABLE
    table.write_text(table.read_text().replace("ioctl = {", f"{NEW}ioctl = {{"))
    done = render.run(tree, PROGRAM, "--check")
    assert done.returncode == 1
    assert all(name in done.stdout for name in FILES)
    assert render.run(tree, PROGRAM).returncode == 0
    for name in FILES:
        assert len(re.findall(r"\bquotactl\b", (tree / name).read_text())) == 1, name
    command = [sys.executable, str(PROJECT / "bpf/core/call_table.py"), str(table)]
    core = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert ".number = __NR_quotactl, .argument[HOW_NAME] = 2 }," in core
    assert render.run(tree, PROGRAM, "--check").returncode == 0


def test_no_unknown_word_writes(tmp_path: Path) -> None:
    tree = render.copy(tmp_path, (*FILES, TABLE, PROGRAM))
    (tree / STALE).write_text("changed")
    render.assert_no_unknown_word_writes(tree, PROGRAM, STALE)
