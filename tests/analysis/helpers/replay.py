# SPDX-License-Identifier: GPL-2.0-only
"""replay: make a run of any length from recorded ones, for measurements.

The events are those of tests/data/runs, repeated with later times: writers waiting for
the journal and for page locks, nine writers in a convoy, jbd2, flushers and unrelated
sleeps. Of the latter only one in 32 is kept, which gives 10 events per stall; about 150
stacks are distinct. Only the start times are synthetic. The injector's record is
repeated with them.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import IO, Any

RUNS = Path(__file__).parents[2] / "data" / "runs"
# How often each is repeated in a round.
ROUND = {
    "journal-buffer-7.2": 3,
    "page-lock-6.12": 3,
    "page-lock-7.2": 3,
    "convoy-6.12": 1,
}
ENGINE = "stap"
PAUSE_NS = 1_000_000_000
# Tasks that appear in chains; every KEPT-th sleep of the others is repeated.
CONCERNED = ("latwriter", "jbd2/", "kworker/")
KEPT = 32


def _rows(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path) as lines:
        return [json.loads(line) for line in lines]


Line = tuple[bytes, int, bytes]


def _template(row: dict[str, Any], start_ns: int) -> Line:
    """A line in three parts: the text before its start time, that time, the text after
    it."""
    rest = {key: value for key, value in row.items() if key not in ("ev", "t_ns")}
    text = json.dumps(rest, separators=(",", ":"), ensure_ascii=False)
    head = f'{{"ev":"{row["ev"]}","t_ns":'.encode()
    return head, row["t_ns"] - start_ns, b"," + text[1:].encode() + b"\n"


class Recorded:
    """One run's events and delays, from the first event's start on."""

    def __init__(self, name: str) -> None:
        rows = _rows(RUNS / name / "events" / f"{ENGINE}.jsonl.gz")
        self.begin = rows[0]
        every = [row for row in rows if row["ev"] in ("block", "write")]
        timed = [row for row in every if row["comm"].startswith(CONCERNED)]
        timed += [row for row in every if row not in timed][::KEPT]
        timed.sort(key=lambda row: row["t_ns"] + row["dur_ns"])
        start_ns = min(row["t_ns"] for row in timed)
        self.whole_ns = max(row["t_ns"] + row["dur_ns"] for row in timed) - start_ns
        self.lines = [_template(row, start_ns) for row in timed]
        delays = [row for row in _rows(RUNS / name / "truth.jsonl") if "t_ns" in row]
        self.delays = [_template(row, start_ns) for row in delays]


def _played(lines: list[Line], at_ns: int) -> bytes:
    return b"".join(
        b"%s%d%s" % (head, at_ns + since_ns, rest) for head, since_ns, rest in lines
    )


def _play(events: int, stream: IO[bytes], truth: IO[bytes]) -> None:
    """Write a stream of this many blocks and writes, and the corresponding delays."""
    recorded = {name: Recorded(name) for name in ROUND}
    round_ = [recorded[name] for name, times in ROUND.items() for _ in range(times)]
    begin = recorded["convoy-6.12"].begin
    at_ns, left = begin["t_ns"], events
    stream.write(_line(begin))
    while left:
        for one in round_:
            chosen = one.lines[:left]
            stream.write(_played(chosen, at_ns))
            if chosen:
                truth.write(_played(one.delays, at_ns))
            left -= len(chosen)
            at_ns += one.whole_ns + PAUSE_NS
    stream.write(_line({"ev": "end", "t_ns": at_ns, "events": events, "lost": 0}))
    truth.write(_line({"ev": "end", "lost": 0}))


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def make(run: Path, events: int) -> Path:
    """Writes a run directory of so many events; its other files are as recorded."""
    gold = shutil.ignore_patterns("*.gold.*")
    shutil.copytree(RUNS / "convoy-6.12", run, ignore=gold)
    folder = run / "events"
    for packed in folder.iterdir():
        packed.unlink()
    stream = folder / f"{ENGINE}.jsonl"
    with stream.open("wb") as file, (run / "truth.jsonl").open("wb") as truth:
        _play(events, file, truth)
    return run
