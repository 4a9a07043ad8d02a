# SPDX-License-Identifier: GPL-2.0-only
"""course_runs: what explain, the manifest and the record say of a recorded run."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from writestall.cli.main import main

MS, S = 1_000_000, 1_000_000_000
MOST_CALLS = 1000
COMMIT_S = 5  # fs/jbd2/journal.c: JBD2_DEFAULT_MAX_COMMIT_AGE
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()
Part = dict[str, Any]


def word(count: int) -> str:
    """A count up to twelve as a word."""
    return WORDS[count]


@dataclass(frozen=True)
class Run:
    """A recorded run that is unpacked in a folder."""

    folder: Path

    @cached_property
    def manifest(self) -> Any:
        """The scenario and what else its manifest has."""
        return json.loads((self.folder / "manifest.json").read_text())

    def explain(self, *words: str) -> str:
        """What explain prints of it."""
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            main(["explain", str(self.folder), *words])
        return shown.getvalue()

    @cached_property
    def output(self) -> Any:
        """The same as JSON, with all calls."""
        return json.loads(self.explain("--json", "--top", str(MOST_CALLS)))

    @property
    def summary(self) -> Any:
        """The summary of the answer."""
        return self.output["summary"]

    def write(self, number: int) -> Any:
        """The chain of a call, as --write counts them."""
        return self.output["chains"][number - 1]

    def rule(self) -> str:
        """The delay that was injected, in ms."""
        return f"{self.manifest['scenario']['inject'][0]['delay_us'] / 1000:g}"

    def workload(self, key: str) -> int:
        """A value of the first workload."""
        return int(self.manifest["scenario"]["workload"][0][key])

    def class_ns(self, cls: str) -> int:
        """How long all calls waited so."""
        return int(self.summary["stall_ns_by_class"][cls])

    def share(self, cls: str, digits: int) -> str:
        """The same in per cent of the time of all stalls."""
        return f"{100 * self.class_ns(cls) / self.summary['stall_ns']:.{digits}f}"


def parts(of: Part) -> Iterator[Part]:
    """All parts of a chain, from the top."""
    for part in of.get("parts", []):
        yield part
        yield from parts(part)


def ms(of: Run, number: int, cls: str, nth: int = 0) -> str:
    """How long the nth wait of a class took in a chain."""
    found = [part for part in parts(of.write(number)) if part.get("class") == cls]
    return f"{found[nth]['dur_ns'] / MS:.0f}"


def each_ns(of: Run) -> float:
    """What the stalls add to each write, in the mean over all writes."""
    return float(of.summary["stall_ns"] / of.summary["writes"])


def waits(of: Run, number: int) -> int:
    """For how many I/Os its chain waits in a commit: those of jbd2, or of btrfs."""
    commit = next(
        part
        for part in of.write(number)["parts"]
        if part.get("class") in ("journal_commit_wait", "fs_transaction")
    )
    return sum(part["waits"] for part in parts(commit) if is_io(part))


def is_io(part: Part) -> bool:
    """Whether a part is a wait for an I/O that is long enough to be delayed."""
    return part.get("class") == "device_io" and part["dur_ns"] > 50 * MS * part["waits"]


def ended_within_ms(of: Run, first: int, last: int) -> str:
    """How far the ends of some calls are apart."""
    calls = [of.write(number) for number in range(first, last + 1)]
    ends = [call["t_ns"] + call["dur_ns"] for call in calls]
    return f"{(max(ends) - min(ends)) / MS:.0f}"


@dataclass(frozen=True)
class Eight:
    """What the chain of lab 2 says in one line: its sleeps beside the delays."""

    whole: int
    rest_ms: float
    other_ms: list[float]


@cache
def eight(of: Run) -> Eight:
    """The delays within the sleeps of jbd2 in the slowest call."""
    call = of.write(1)
    start, end = call["t_ns"], call["t_ns"] + call["dur_ns"]
    lines = (of.folder / "truth.jsonl").read_text().splitlines()
    delays = [
        (row["t_ns"], row["t_ns"] + row["dur_ns"])
        for row in map(json.loads, lines)
        if row["ev"] == "bio_delay"
    ]
    io_wait = next(part for part in parts(call) if part.get("class") == "device_io")
    whole = [one for one in delays if start <= one[0] and one[1] <= end]
    cut = [one[1] - start for one in delays if one[0] < start < one[1]]
    events = (of.folder / of.output["events"]).read_text().splitlines()
    sleeps = [json.loads(events[number - 1]) for number in io_wait["evidence"]]
    other = [
        row["dur_ns"] / MS
        for row in sleeps
        if not any(
            at < row["t_ns"] + row["dur_ns"] and row["t_ns"] < to for at, to in delays
        )
    ]
    return Eight(len(whole), sum(cut) / MS, other)
