# SPDX-License-Identifier: GPL-2.0-only
"""folder: turns a comparison's folder (docs/compare.md) into options and runs.

What a run must be to count is decided here: complete, with a client that kept its
schedule by its own doing, and with latencies to read.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from writestall.chain import answers
from writestall.common.errors import WritestallError
from writestall.common.units import percent
from writestall.compare import durability
from writestall.compare.durability import Kept
from writestall.events import run_directory
from writestall.events.hlog import Log, read_log
from writestall.events.run_directory import RunDir
from writestall.report.flame_graph import Steps, steps

FORMAT = 1
# A client that is late by itself for more of the time than this measures itself: it
# says how long it was, delays that are as long as a stall alone being counted.
MOST_LATE = 0.005
# An option holds a load when most of its runs do as much of it. One may have ended amid
# a stall; what falls behind in most of them does not keep up.
HELD = 0.99
# Percent of what the workload asks for, where nobody says.
WANTED_LOAD = 100


@dataclass(slots=True)
class Run:
    """One run of an option; `why_not` says why it does not count.

    `requests` count from the intended start, `writes` are the calls alone. `stall_ns`
    is the sum of its stalled calls, None where nobody traced them.
    """

    round: int
    path: Path
    duration_s: int = 0
    why_not: str | None = None
    requests: Log = field(default_factory=lambda: Log(None, []))
    writes: Log = field(default_factory=lambda: Log(None, []))
    stall_ns: int | None = None
    by_class: Counter[str] = field(default_factory=Counter)
    by_root: Counter[str] = field(default_factory=Counter)
    steps: Steps = field(default_factory=Steps)
    notes: list[str] = field(default_factory=list)
    kernel: str | None = None
    began_ns: int | None = None


@dataclass(slots=True)
class Option:
    """A file system with its options, and its runs in the order of rounds.

    `steps` are the stacks of all stalled writes of the runs that count.
    """

    name: str
    what: str
    filesystem: dict[str, Any]
    caveat: str | None
    runs: list[Run]
    steps: Steps = field(default_factory=Steps)

    @property
    def counted(self) -> list[Run]:
        """The runs that count."""
        return [run for run in self.runs if run.why_not is None]


@dataclass(slots=True)
class Level:
    """All options at one load, in percent of what the workload asks for."""

    load: int
    options: list[Option]

    @property
    def counted(self) -> list[Run]:
        """The runs that count, of all options."""
        return [run for option in self.options for run in option.counted]

    @property
    def wanted_per_s(self) -> float:
        """Requests a second that were asked for; 0 where no run counts."""
        runs = self.counted
        time_s = sum(run.duration_s for run in runs)
        return sum(run.requests.count for run in runs) / time_s if time_s else 0.0

    @property
    def beyond(self) -> dict[str, float]:
        """Options beyond their breaking point, and how much of the load they did: the
        median of their runs."""
        # A write that never began is in no log of calls.
        shares = {
            option.name: median(
                run.writes.count / run.requests.count for run in option.counted
            )
            for option in self.options
            if option.counted
        }
        return {name: share for name, share in shares.items() if share < HELD}


@dataclass(slots=True)
class Comparison:
    """All of it, and the level at which options are compared. `machines` are the
    verdicts of the machines that ran it, `kept` what options had left when one was
    cut."""

    path: Path
    plan: dict[str, Any]
    levels: list[Level]
    level: Level
    machines: list[dict[str, Any]]
    kept: list[Kept]

    @property
    def options(self) -> list[Option]:
        """The options as they are compared."""
        return self.level.options


def open_comparison(path: Path, load: int | None = None) -> Comparison:
    """Reads a comparison's folder; raises WritestallError where it is none.

    Without a `load`, options are compared at the highest that all of them held.
    """
    plan = _plan(path)
    levels = [_level(path, plan, percent) for percent in plan["loads"]]
    counted = [level for level in levels if level.counted]
    if not counted:
        reason = _first_reason(levels[0].options)
        raise WritestallError(f"{path}: no run counts; {reason}")
    kept = durability.read(path, [row["name"] for row in plan["options"]])
    return Comparison(path, plan, levels, _chosen(counted, load), _machines(path), kept)


def _level(path: Path, plan: dict[str, Any], load: int) -> Level:
    options = []
    for row in plan["options"]:
        runs = [
            _run(path / cell["name"], cell["round"])
            for cell in plan["cells"]
            if (cell["option"], cell["load"]) == (row["name"], load)
        ]
        about = (row["name"], row["what"], row["filesystem"], row.get("caveat"))
        option = Option(*about, runs)
        for run in option.counted:
            option.steps.join(run.steps)
        options.append(option)
    return Level(load, options)


def _chosen(levels: list[Level], load: int | None) -> Level:
    """The level of that load, or the highest held, or the lowest there is."""
    if load is None:
        held = [level for level in levels if not level.beyond]
        return held[-1] if held else levels[0]
    for level in levels:
        if level.load == load:
            return level
    known = ", ".join(str(level.load) for level in levels)
    raise WritestallError(f"--load {load}: runs that count have {known}")


def _plan(path: Path) -> dict[str, Any]:
    file = path / "plan.json"
    try:
        plan = json.loads(file.read_bytes())
        if plan["format"] != FORMAT:
            raise WritestallError(
                f"{file}: format {plan['format']!r}, this version reads {FORMAT}"
            )
        for row in plan["options"]:
            _ = row["name"], row["what"], row["filesystem"]
        _ = plan["rounds"], plan["duration_s"], plan["profile"]["name"]
        _ = plan["workload"]["name"], list(plan["loads"])
        for cell in plan["cells"]:
            _ = cell["name"], cell["option"], cell["load"], cell["round"]
    except OSError as error:
        raise WritestallError(f"{file}: {error.strerror}; not a comparison") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WritestallError(f"{file}: not a plan ({type(error).__name__})") from None
    return dict(plan)


def _machines(path: Path) -> list[dict[str, Any]]:
    found = []
    for file in sorted((path / "machines").glob("*.json")):
        try:
            found.append(dict(json.loads(file.read_bytes())))
        except (OSError, ValueError, TypeError):
            continue
    return found


def _first_reason(options: list[Option]) -> str:
    run = options[0].runs[0]
    return f"{options[0].name} round {run.round}: {run.why_not}"


def _run(path: Path, number: int) -> Run:
    run = Run(number, path)
    try:
        opened = run_directory.open_run(path)
    except WritestallError:
        run.why_not = "not run"
        return run
    run.kernel, run.began_ns = opened.get("kernel"), opened.get("clock", "realtime_ns")
    run.duration_s = opened.get("duration_s") or 0
    if opened.get("status") != "complete":
        run.why_not = "; ".join(opened.notes) or "not complete"
        return run
    run.requests = read_log(path / "writer.hlog")
    run.writes = read_log(path / "writer-service.hlog")
    if not run.requests.count or not run.writes.intervals:
        run.why_not = "its latencies cannot be read"
        return run
    _explain(run, opened)
    _schedule(run)
    return run


def _explain(run: Run, opened: RunDir) -> None:
    """What its stalls waited for, as far as a tracer saw them."""
    try:
        answer = answers.answer(opened, None)
    except WritestallError as error:
        run.notes.append(str(error))
        return
    run.stall_ns = answer.stall_ns
    run.by_class.update(answer.ns_by_class)
    run.steps = steps(answer)
    run.by_root.update({str(root): ns for root, ns in answer.all_roots.items()})
    if lost := answer.stream.lost_events:
        run.notes.append(f"{lost} events lost")


def _schedule(run: Run) -> None:
    """Whether the client kept its schedule, by its own record."""
    try:
        lines = (run.path / "writer.jsonl").read_text("utf-8", "replace").splitlines()
        first, last = json.loads(lines[0]), json.loads(lines[-1])
        threads = first["writers"] if "writers" in first else first["threads"]
        share = last["late_ns"] / (threads * run.duration_s * 1e9)
    except (OSError, ValueError, LookupError, TypeError, ZeroDivisionError):
        run.notes.append("the client does not say whether it kept its schedule")
        return
    if share > MOST_LATE:
        run.why_not = (
            f"its client could not keep its schedule: late by itself {percent(share)}"
            " of the time"
        )
