# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that docs/events.schema.json, the page and the records define
the same, and that a changed schema changes both."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from support import PROJECT

FILES = ("docs/events.md", "analysis/writestall/events/contract.py")
SCHEMA = "docs/events.schema.json"
PROGRAM = "docs/render-events.py"


def run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / PROGRAM), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def copy(tree: Path) -> Path:
    for name in (*FILES, SCHEMA, PROGRAM):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tree / name)
    return tree


def test_the_page_and_the_records_are_the_schema_s() -> None:
    done = run(PROJECT, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_new_field_comes_into_both(tmp_path: Path) -> None:
    tree = copy(tmp_path)
    schema = tree / SCHEMA
    field = '"runq_ns": { "$ref'
    new = f'"cpu": {{ "$ref": "#/$defs/count", "description": "where" }}, {field}'
    schema.write_text(schema.read_text().replace(field, new, 1))
    before = [(tree / name).read_text() for name in FILES]
    done = run(tree, "--check")
    assert done.returncode == 1
    assert all(name in done.stdout for name in FILES)
    assert before == [(tree / name).read_text() for name in FILES]
    assert run(tree).returncode == 0
    page, records = ((tree / name).read_text() for name in FILES)
    assert "`cpu` (where), `runq_ns`" in page
    assert "    cpu: int | None = None\n    runq_ns: Ns" in records
    assert run(tree, "--check").returncode == 0


def test_no_unknown_word_writes(tmp_path: Path) -> None:
    tree = copy(tmp_path)
    (tree / FILES[0]).write_text("| `ev` | one per | fields |\n| --- |\n| `end` |\n")
    for words, status in ((["--help"], 0), (["--nonsense"], 2), (["word"], 2)):
        assert run(tree, *words).returncode == status
    assert (tree / FILES[0]).read_text().endswith("| `end` |\n")
