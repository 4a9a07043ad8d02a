# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that docs/events.schema.json, the page and the records define
the same, and that a changed schema changes both."""

from __future__ import annotations

from pathlib import Path

import render

from support import PROJECT

FILES = ("docs/events.md", "analysis/writestall/events/contract.py")
SCHEMA = "docs/events.schema.json"
PROGRAM = "docs/render-events.py"


def test_the_page_and_the_records_are_the_schema_s() -> None:
    done = render.run(PROJECT, PROGRAM, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_new_field_comes_into_both(tmp_path: Path) -> None:
    tree = render.copy(tmp_path, (*FILES, SCHEMA, PROGRAM))
    schema = tree / SCHEMA
    field = '"runq_ns": { "$ref'
    new = f'"cpu": {{ "$ref": "#/$defs/count", "description": "where" }}, {field}'
    schema.write_text(schema.read_text().replace(field, new, 1))
    before = [(tree / name).read_text() for name in FILES]
    done = render.run(tree, PROGRAM, "--check")
    assert done.returncode == 1
    assert all(name in done.stdout for name in FILES)
    assert before == [(tree / name).read_text() for name in FILES]
    assert render.run(tree, PROGRAM).returncode == 0
    page, records = ((tree / name).read_text() for name in FILES)
    assert "`cpu` (where), `runq_ns`" in page
    assert "    cpu: int | None = None\n    runq_ns: Ns" in records
    assert render.run(tree, PROGRAM, "--check").returncode == 0


def test_a_type_that_is_not_defined_is_refused(tmp_path: Path) -> None:
    tree = render.copy(tmp_path, (*FILES, SCHEMA, PROGRAM))
    schema = tree / SCHEMA
    schema.write_text(schema.read_text().replace("$defs/count_or_null", "$defs/cont"))
    before = [(tree / name).read_text() for name in FILES]
    done = render.run(tree, PROGRAM)
    assert done.stderr.startswith(f"{SCHEMA}: #/$defs/cont: no such definition; add it")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert before == [(tree / name).read_text() for name in FILES]


def test_no_unknown_word_writes(tmp_path: Path) -> None:
    tree = render.copy(tmp_path, (*FILES, SCHEMA, PROGRAM))
    (tree / FILES[0]).write_text("| `ev` | one per | fields |\n| --- |\n| `end` |\n")
    render.assert_no_unknown_word_writes(tree, PROGRAM, FILES[0])
