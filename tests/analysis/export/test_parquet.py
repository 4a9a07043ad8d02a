# SPDX-License-Identifier: GPL-2.0-only
"""This test will read Parquet tables: documented columns, the same numbers."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import build
from golden_runs import NAMES, unpacked
from support import PROJECT
from writestall.cli.main import main
from writestall.export.tables import AMOUNTS

TABLES = ("writes", "links", "blocks")
Rows = list[dict[str, Any]]


def exported(run: Path, target: Path) -> dict[str, Any]:
    """A run's tables by name."""
    assert main(["export", str(run), "--to", "parquet", "-o", str(target)]) == 0
    names = sorted(path.name for path in target.iterdir())
    assert names == sorted(f"{name}.parquet" for name in TABLES)
    return {name: pq.read_table(target / f"{name}.parquet") for name in TABLES}


def sums(rows: Rows, key: str) -> dict[str, int]:
    """dur_ns by a column."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        found[row[key]] += row["dur_ns"]
    return dict(found)


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_keep_their_numbers(name: str, tmp_path: Path) -> None:
    """Writes, classes and roots add up to summary.json; links to their parents."""
    run = unpacked(name, tmp_path)
    assert main(["explain", str(run)]) == 0
    totals = json.loads((run / "summary.json").read_text())
    tables = exported(run, tmp_path / "out")
    writes, links, blocks = (tables[name].to_pylist() for name in TABLES)
    assert len(writes) == totals["stalls"]
    assert sum(row["dur_ns"] for row in writes) == totals["stall_ns"]
    explained_ns = sum(row["explained_ns"] for row in writes)
    assert round(explained_ns / totals["stall_ns"], 6) == totals["share_explained"]
    for cls in AMOUNTS:
        in_writes = sum(row[f"{cls}_ns"] for row in writes)
        assert in_writes == totals["stall_ns_by_class"].get(cls, 0)
    top = [row for row in links if row["parent_id"] is None]
    assert sums(top, "class") == totals["stall_ns_by_class"]
    leaves = [row for row in links if row["root"] is not None]
    assert sums(leaves, "root") == totals["stall_ns_by_root"]
    below: dict[tuple[int, int], int] = defaultdict(int)
    for row in links:
        if row["parent_id"] is not None:
            below[row["write_id"], row["parent_id"]] += row["dur_ns"]
    whole = {(row["write_id"], row["link_id"]): row["dur_ns"] for row in links}
    assert below and all(whole[key] == ns for key, ns in below.items())
    ids = {row["block_id"] for row in blocks}
    assert all(set(row["evidence"]) <= ids for row in links)
    assert sorted(ids) == sorted(block_lines(run))


def block_lines(run: Path) -> list[int]:
    """Line numbers of the events the tables are of."""
    lines = (run / "events" / "stap.jsonl").read_text().splitlines()
    return [at for at, line in enumerate(lines, 1) if '"ev":"block"' in line]


def test_every_column_is_documented(tmp_path: Path) -> None:
    """docs/export.md has each table's columns, no others, with the types written."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    text = (PROJECT / "docs/export.md").read_text()
    for name, table in exported(run, tmp_path / "out").items():
        section = text.partition(f"### {name}.parquet\n")[2].partition("\n#")[0]
        documented = re.findall(r"^\| `(\w+)` \| (\w[\w ]*) \|", section, re.M)
        amounts = [(f"{cls}_ns", "integer") for cls in AMOUNTS]
        documented += amounts if name == "writes" else []
        written = [(field.name, kind(str(field.type))) for field in table.schema]
        assert documented == written


def kind(arrow: str) -> str:
    """An Arrow type as the page calls it."""
    names = {
        "int64": "integer",
        "uint64": "integer",
        "bool": "yes or no",
        "string": "text",
    }
    if arrow.startswith("list"):
        return f"list of {'integers' if 'int64' in arrow else 'texts'}"
    return "text" if arrow.startswith("dictionary") else names[arrow]


def test_tables_say_where_they_come_from(tmp_path: Path) -> None:
    """The run's name, kernel and scenario travel with each file."""
    run = build.run_dir(tmp_path / "my-run", build.cascade())
    for table in exported(run, tmp_path / "out").values():
        about = table.schema.metadata
        assert about[b"writestall.run"] == b"my-run"
        assert about[b"writestall.scenario"] == b"journal-buffer"
        assert set(table.column("run").to_pylist()) == {"my-run"}


def test_more_rows_than_one_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row groups follow each other; nothing is lost between them."""
    monkeypatch.setattr("writestall.export.to_parquet.ROWS", 2)
    run = build.run_dir(tmp_path / "run", build.cascade())
    tables = exported(run, tmp_path / "out")
    assert pq.ParquetFile(tmp_path / "out" / "blocks.parquet").num_row_groups == 3
    ids = [row["block_id"] for row in tables["blocks"].to_pylist()]
    assert sorted(ids) == [2, 3, 4, 5, 6, 7]
