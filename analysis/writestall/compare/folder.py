# SPDX-License-Identifier: GPL-2.0-only
"""folder: read a comparison's folder (docs/compare.md).

A run counts if it is complete, its latencies can be read, and its client was not late
by its own fault.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from writestall.chain import answers
from writestall.common.compressed import DEFAULT, Bound
from writestall.compare import durability, joined
from writestall.compare.durability import Kept
from writestall.compare.tally import Tally
from writestall.events import run_directory
from writestall.events.application import is_unrecorded
from writestall.events.hlog import read_log
from writestall.events.run_directory import RunDir
from writestall.report.flame_graph import STEPS, Steps
from writestall_base import files, plans
from writestall_base.errors import UserError
from writestall_base.folders import refuse_special
from writestall_base.lateness import MOST_LATE, late_share
from writestall_base.units import percent

# An option holds a load if most of its runs do this share of it: a single run may have
# ended during a stall.
HELD = 0.99
# The default load, in percent of the workload's own.
WANTED_LOAD = 100


@dataclass(slots=True)
class Run:
    """One run of an option; `why_not` is the reason if it does not count.

    `requests` are measured from the intended start, `writes` from the call. `stall_ns`
    is the sum of the stalled calls, None if they were not traced. What the disks wrote
    for it is None in runs that did not count it.
    """

    round: int
    path: Path
    duration_s: int = 0
    why_not: str | None = None
    requests: Tally = field(default_factory=Tally)
    writes: Tally = field(default_factory=Tally)
    stall_ns: int | None = None
    by_class: Counter[str] = field(default_factory=Counter)
    by_root: Counter[str] = field(default_factory=Counter)
    steps: Steps = field(default_factory=Steps)
    notes: list[str] = field(default_factory=list)
    kernel: str | None = None
    began_ns: int | None = None
    disk_written_bytes: int | None = None
    disk_flushes: int | None = None


@dataclass(slots=True)
class Option:
    """A file system with its options, and its runs in the order of rounds.

    `repeats` names the option that it is once more (A/A), `against` what it is compared
    with instead of the baseline: itself on another `kernel`, or the baseline's option
    on a disk of the same `severity`, a factor of its delays. `steps` are the stacks of
    all stalled writes of the runs that count.
    """

    name: str
    what: str
    filesystem: dict[str, Any]
    caveat: str | None
    runs: list[Run]
    repeats: str | None = None
    against: str | None = None
    kernel: str | None = None
    severity: str | None = None
    steps: Steps = field(default_factory=Steps)

    @property
    def follows(self) -> str | None:
        """The same option elsewhere, if it is compared with that."""
        same = self.name.partition("@")[0]
        other = self.against or ""
        return other if other.partition("@")[0] == same else None

    @property
    def counted(self) -> list[Run]:
        return [run for run in self.runs if run.why_not is None]


@dataclass(slots=True)
class Level:
    """All options at one load, in percent of the workload's own."""

    load: int
    options: list[Option]

    @property
    def counted(self) -> list[Run]:
        return [run for option in self.options for run in option.counted]

    @property
    def wanted_per_s(self) -> float:
        """Requested load in requests per second; 0 if no run counts."""
        runs = self.counted
        time_s = sum(run.duration_s for run in runs)
        return sum(run.requests.count for run in runs) / time_s if time_s else 0.0

    @property
    def beyond(self) -> dict[str, float]:
        """Overloaded options, and the share of the load that they did: the median of
        their runs."""
        # The log of calls has no write that never began.
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
    """A comparison, and the level at which options are compared. `machines` are the
    verdicts of the machines that ran it, `kept` is what options kept in a crash."""

    paths: tuple[Path, ...]
    plan: dict[str, Any]
    levels: list[Level]
    level: Level
    machines: list[dict[str, Any]]
    kept: list[Kept]

    @property
    def options(self) -> list[Option]:
        return self.level.options

    @property
    def baseline(self) -> Option:
        """The option that the others are compared with: the plan's first."""
        return self.options[0]

    @property
    def repeated(self) -> Option | None:
        """The baseline once more; None in plans that do not have it."""
        name = self.baseline.name
        return next((one for one in self.options if one.repeats == name), None)

    @property
    def kernels(self) -> list[str]:
        """The kernels that it compares, the baseline's first; empty of only one."""
        names = [one.kernel for one in self.options if one.kernel]
        return list(dict.fromkeys(names))

    @property
    def severities(self) -> list[str]:
        """The factors of the disk's delays, the baseline's first; empty of only one."""
        names = [one.severity for one in self.options if one.severity]
        return list(dict.fromkeys(names))

    def reference(self, option: Option) -> Option:
        """What an option is compared with."""
        name = option.against or self.baseline.name
        return next(one for one in self.options if one.name == name)

    def is_reference(self, option: Option) -> bool:
        """Whether it is the baseline, or the baseline's option on another disk."""
        elsewhere = option.severity != self.baseline.severity and option.follows
        return option is self.baseline or elsewhere == self.baseline.name

    @property
    def others(self) -> list[Option]:
        """The options that are compared with the baseline."""
        return [one for one in self.options[1:] if one is not self.repeated]


def open_comparison(
    path: Path, load: int | None = None, bound: Bound = DEFAULT, *others: Path
) -> Comparison:
    """Read a comparison's folder, joined with `others`; raise UserError if it is none.

    Without a `load`, options are compared at the highest load that all of them held.
    """
    paths = (path, *others)
    for one in paths:
        refuse_special(one)
    found = [plans.read(one) for one in paths]
    plan = joined.plan(paths, found) if others else found[0]
    levels = [_level(path, plan, percent, bound) for percent in plan["loads"]]
    counted = [level for level in levels if level.counted]
    if not counted:
        first = levels[0].options[0]
        why = f"{first.name} round {first.runs[0].round}: {first.runs[0].why_not}"
        raise UserError(f"{path}: no run counts; {why}")
    machines = [verdict for one in paths for verdict in _machines(one)]
    cuts = {
        row["name"]: path / "crash" / row.get("crash", row["name"])
        for row in plan["options"]
    }
    kept = durability.read(cuts)
    return Comparison(paths, plan, levels, _chosen(counted, load), machines, kept)


def _level(path: Path, plan: dict[str, Any], load: int, bound: Bound) -> Level:
    options = []
    for row in plan["options"]:
        runs = []
        for cell in plan["cells"]:
            if (cell["option"], cell["load"]) == (row["name"], load):
                runs.append(_run(path / cell["name"], cell["round"], bound))
                # A histogram and its codec hold each other: 1.5 MB for a second of run.
                gc.collect(0)
        about = (row["name"], row["what"], row["filesystem"], row.get("caveat"))
        keys = ("repeats", "against", "kernel", "severity")
        option = Option(*about, runs, *(row.get(key) for key in keys))
        for run in runs:
            if run.why_not is None:
                option.steps.join(run.steps)
            run.steps = Steps()
        options.append(option)
    return Level(load, options)


def _chosen(levels: list[Level], load: int | None) -> Level:
    """The level of that load; by default the highest that all hold, else the lowest."""
    if load is None:
        held = [level for level in levels if not level.beyond]
        return held[-1] if held else levels[0]
    for level in levels:
        if level.load == load:
            return level
    known = ", ".join(str(level.load) for level in levels)
    raise UserError(f"--load {load}: there are counted runs at {known} only")


def _machines(path: Path) -> list[dict[str, Any]]:
    found = []
    for file in sorted((path / "machines").glob("*.json")):
        try:
            found.append(dict(json.loads(files.content(file))))
        except (OSError, ValueError, TypeError, RecursionError):
            continue
    return found


def _run(path: Path, number: int, bound: Bound) -> Run:
    run = Run(number, path)
    try:
        opened = run_directory.open_run(path, bound)
    except UserError:
        run.why_not = _missing(path)
        return run
    run.kernel, run.began_ns = opened.get("kernel"), opened.get("clock", "realtime_ns")
    run.duration_s = opened.get("duration_s") or 0
    run.disk_written_bytes = opened.get("disk_io", "written_bytes")
    run.disk_flushes = opened.get("disk_io", "flushes")
    if opened.get("status") != "complete":
        run.why_not = "; ".join(opened.notes) or "not complete"
        return run
    run.requests = Tally.of(read_log(path / "writer.hlog"))
    run.writes = Tally.of(read_log(path / "writer-service.hlog"))
    if not run.requests.count or not run.writes.intervals:
        wanted = ": a command has to write $OUT/requests.jsonl"
        run.why_not = "its latencies cannot be read"
        run.why_not += wanted if is_unrecorded(opened) else ""
        return run
    _explain(run, opened)
    _schedule(run)
    return run


def _missing(path: Path) -> str:
    """Why a run is not there; disturbed ones were set aside (repro/plan)."""
    name = path.relative_to(path.parent.parent)
    if tried := list((path.parent.parent / "disturbed").glob(f"*/{name}")):
        return f"the host disturbed each of its tries ({len(tried)})"
    return "not run"


def _explain(run: Run, opened: RunDir) -> None:
    """Add what the stalls waited for, if they were traced."""
    try:
        answer = answers.answer(opened, None)
    except UserError as error:
        run.notes.append(str(error))
        return
    run.stall_ns = answer.stall_ns
    run.by_class.update(answer.ns_by_class)
    run.steps = answer.gathered(STEPS)
    run.by_root.update({str(root): ns for root, ns in answer.all_roots.items()})
    if lost := answer.stream.lost_events:
        run.notes.append(f"{lost} events lost")


def _schedule(run: Run) -> None:
    """Exclude a run whose client's own record says that it was late."""
    share = late_share(run.path, run.duration_s)
    if share is None:
        run.notes.append("the client did not record whether it kept its schedule")
        return
    if share > MOST_LATE:
        run.why_not = (
            f"its client did not keep its schedule: it was late {percent(share)}"
            " of the time"
        )
