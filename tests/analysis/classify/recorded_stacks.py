#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""recorded_stacks: collect the stacks that our guests slept on from run directories.

tests/data/stacks.jsonl.gz has a row for each stack of a kernel, told apart by its
functions: `kernel`, `scenarios` it was seen in, `comm`, `kstack` as it was printed,
and what the rules say of it, `class` and `role`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from writestall.classify.frames import parse_stack
from writestall.classify.stack import classify, role
from writestall.events.contract import Block
from writestall.events.stream import read_stream

FILE = Path(__file__).parents[2] / "data" / "stacks.jsonl.gz"
# Directories of the machine, shared with the host, are not part of a scenario.
SHARED = re.compile(r"p9_|v9fs_")
Row = dict[str, Any]
Key = tuple[str, str, tuple[str, ...]]


def rows() -> list[Row]:
    """The rows to keep."""
    if not FILE.exists():
        return []
    return [json.loads(line) for line in gzip.open(FILE, "rt")]


def answer(row: Row) -> Row:
    """The row with the current result of the rules."""
    stack = tuple(row["kstack"])
    return row | {"class": classify(stack).cls, "role": role(stack, row["comm"])}


def _key(row: Row) -> Key:
    symbols = tuple(frame.symbol for frame in parse_stack(tuple(row["kstack"])))
    return row["kernel"], row["role"], symbols


def _seen(run: Path) -> Iterator[Row]:
    """The kinds of sleeps in a run."""
    manifest = json.loads((run / "manifest.json").read_text())
    kernel = ".".join(manifest["kernel"].split(".")[:2])
    scenario = manifest["scenario"]["name"]
    for path in sorted((run / "events").glob("*.jsonl*")):
        for block in _blocks(path):
            if block.kstack and not any(map(SHARED.match, block.kstack)):
                row: Row = {"kernel": kernel, "scenarios": [scenario]}
                row |= {"comm": block.comm, "kstack": block.kstack}
                yield answer(row)


def _blocks(path: Path) -> list[Block]:
    if path.suffix != ".gz":
        return read_stream(path).blocks.shapes
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        return read_stream(plain).blocks.shapes


def keep(runs: Iterable[Path]) -> None:
    """Add the stacks of these runs, and what the rules say of all of them now."""
    known = {_key(row): row for row in map(answer, rows())}
    for run in runs:
        for row in _seen(run):
            kept = known.setdefault(_key(row), row)
            kept["scenarios"] = sorted({*kept["scenarios"], *row["scenarios"]})
    lines = [json.dumps(row) + "\n" for _, row in sorted(known.items())]
    FILE.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    print(f"{FILE}: {len(lines)} stacks")


def main() -> None:
    """Keep the stacks of the runs on the command line."""
    parser = argparse.ArgumentParser(prog="recorded_stacks.py", description=__doc__)
    parser.add_argument("run", nargs="*", type=Path, help="a run directory")
    keep(parser.parse_args().run)


if __name__ == "__main__":
    main()
