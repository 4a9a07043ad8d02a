# SPDX-License-Identifier: GPL-2.0-only
"""replay: turns recorded runs into one of any length, for measuring.

The events are those of tests/data/runs, again and again, each time later: writers
behind the journal and behind page locks, nine writers in a convoy, with jbd2, flushers
and sleeps that have nothing to do with it. Of these only one in 32 is kept, which
makes 10 events per stall; about 150 stacks are distinct. Only starts are made up.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RUNS = Path(__file__).parents[1] / "data" / "runs"
# How often each is played in a round.
ROUND = {
    "journal-buffer-7.2": 3,
    "page-lock-6.12": 3,
    "page-lock-7.2": 3,
    "convoy-6.12": 1,
}
ENGINE = "stap"
PAUSE_NS = 1_000_000_000
# Tasks that a chain comes by; every KEPT-th sleep of the others is played.
CONCERNED = ("latwriter", "jbd2/", "kworker/")
KEPT = 32


def _recorded(name: str) -> list[dict[str, Any]]:
    with gzip.open(RUNS / name / "events" / f"{ENGINE}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def _template(row: dict[str, Any], start_ns: int) -> tuple[int, bytes]:
    """A line without its start: when it was, and what follows the number."""
    rest = {key: value for key, value in row.items() if key not in ("ev", "t_ns")}
    text = json.dumps(rest, separators=(",", ":"), ensure_ascii=False)
    return row["t_ns"] - start_ns, b"," + text[1:].encode() + b"\n"


Line = tuple[bytes, int, bytes]


def _templates(rows: list[dict[str, Any]]) -> tuple[list[Line], int]:
    """What stands before each start, the start and what follows; ns of all."""
    every = [row for row in rows if row["ev"] in ("block", "write")]
    timed = [row for row in every if row["comm"].startswith(CONCERNED)]
    timed += [row for row in every if row not in timed][::KEPT]
    timed.sort(key=lambda row: row["t_ns"] + row["dur_ns"])
    start_ns = min(row["t_ns"] for row in timed)
    end_ns = max(row["t_ns"] + row["dur_ns"] for row in timed)
    heads = {ev: f'{{"ev":"{ev}","t_ns":'.encode() for ev in ("block", "write")}
    lines = [(heads[row["ev"]], *_template(row, start_ns)) for row in timed]
    return lines, end_ns - start_ns


def _lines(events: int) -> Iterator[bytes]:
    """A stream with so many blocks and writes between its begin and end."""
    recorded = {name: _recorded(name) for name in ROUND}
    begin = recorded["convoy-6.12"][0]
    yield json.dumps(begin, separators=(",", ":")).encode() + b"\n"
    at_ns, left = begin["t_ns"], events
    played = {name: _templates(rows) for name, rows in recorded.items()}
    round_ = [played[name] for name, times in ROUND.items() for _ in range(times)]
    while left:
        for lines, whole_ns in round_:
            chosen = lines[:left]
            yield b"".join(
                b"%s%d%s" % (head, at_ns + since_ns, rest)
                for head, since_ns, rest in chosen
            )
            left -= len(chosen)
            at_ns += whole_ns + PAUSE_NS
    end = {"ev": "end", "t_ns": at_ns, "events": events, "lost": 0}
    yield json.dumps(end, separators=(",", ":")).encode() + b"\n"


def make(run: Path, events: int) -> Path:
    """Writes a run directory of so many events; its other files are as recorded."""
    gold = shutil.ignore_patterns("*.gold.*")
    shutil.copytree(RUNS / "convoy-6.12", run, ignore=gold)
    folder = run / "events"
    for packed in folder.iterdir():
        packed.unlink()
    with (folder / f"{ENGINE}.jsonl").open("wb") as file:
        file.writelines(_lines(events))
    return run
