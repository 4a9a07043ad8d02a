# SPDX-License-Identifier: GPL-2.0-only
"""plan: write the cells of a comparison of file systems.

A cell is one option, on one kernel, on the disk with its delays by one factor, at one
load in one round. Each round runs all of them once, in an order of its own, and gives
all of them the same seed: the same disk and the same writers, so that what differs
within a round is the option, and what drifts hits all alike. A load is a share of what
the workload asks for: options are not to be compared where one of them is beyond its
breaking point.
The first option is the baseline, and runs twice: a difference has to exceed how far it
differs from itself.
A finished cell stays: a plan made again with the same inputs goes on where it was. No
run is removed: one of other inputs, and one that the host disturbed, is set aside.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from labrun.comparison import axes, matrix, severity
from labrun.comparison.axes import Kernel, Treatment
from labrun.comparison.matrix import Option
from labrun.scenario import reading
from writestall_base import designs, files, lateness, plans, toml_text
from writestall_base.errors import UserError
from writestall_base.folders import refuse_special

# Rules and writers of a run have seeds from the run's on.
SEEDS_A_ROUND = 1_000
# Keys of a plan that change when rounds are added.
GROWS = ("rounds", "cells", "looks", "added", "beside")
WANTED_LOAD = 100  # percent of what the workload asks for
OF_THE_WORKLOAD = "workload sysctl queue memory trace kernel machine".split()
# What a test permutes within a round: an option, the baseline and its repetition, or
# an option on two kernels.
COLUMNS, PAIRED = 3, 2
# What an emulated run takes besides its workload: its share of a boot, mkfs, analysis
# (17 s a run of 8 s, 27 November 2026, 6.12 with icount on 2 cores).
BESIDE_S = 9
# What another machine takes before its first run (docs/measured.md).
BOOT_S = 15
# What a cut takes besides the writing: two boots, mkfs, and two checks.
CUT_S = 20
MOST_LOOKS, MIN_GROWTH = 5, 1.3
MOST_BYTES = 4 << 20  # of a manifest
# A run that the host disturbed is repeated so often.
MOST_REPEATS = 3
DISTURBED = "disturbed"
NOTHING_EXPECTED = {
    "chain": [],
    "stalled_writes_min": 0,
    "stall_ms_min": 0,
    "writer_untouched": False,
}


@dataclass(frozen=True)
class Wanted:
    """The request; `disk` is a profile's table, `work` a scenario's, `inputs` names
    what else the results depend on, `beside` has the words of `writestall compare` that
    no other key holds.
    """

    disk: dict[str, Any]
    work: dict[str, Any]
    words: tuple[str, ...]
    rounds: int
    duration_s: int
    seed: int
    aged_percent: int
    inputs: str
    loads: tuple[int, ...] = (WANTED_LOAD,)
    baseline: str | None = None
    looks: tuple[int, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    factors: tuple[float, ...] = ()
    rules: dict[str, Any] = field(default_factory=dict)
    beside: str = ""


@dataclass(frozen=True)
class Cell:
    """A planned run: its scenario's file and text, and its folder."""

    treatment: Treatment
    load: int
    round: int
    text: str

    @property
    def option(self) -> str:
        """The option, and its kernel where there are several."""
        return self.treatment.name

    @property
    def series(self) -> str:
        """The name of its runs in all rounds."""
        load = f"-at-{self.load}" if self.load != WANTED_LOAD else ""
        return self.treatment.stem + load

    @property
    def name(self) -> str:
        """Its folder in that of the comparison."""
        return f"{self.series}/{self.round}"

    @property
    def scenario(self) -> str:
        """Its scenario's file in the folder of the comparison."""
        return f"scenarios/{self.round}/{self.series}.toml"

    @property
    def row(self) -> dict[str, Any]:
        """What a plan says of it."""
        found = {"option": self.option, "load": self.load, "round": self.round}
        found |= {"name": self.name, "scenario": self.scenario}
        if kernel := self.treatment.kernel:
            machine = f"{self.round}/{self.treatment.machine}"
            found |= {"kernel": kernel.name, "machine": machine}
        return found


def make(wanted: Wanted) -> tuple[dict[str, Any], list[Cell]]:
    """Return the plan as JSON and its cells in the order of the runs."""
    known, tables = matrix.options()
    options = matrix.choose(known, wanted.words)
    axes_of_plan = wanted.kernels, wanted.factors
    chosen = axes.treatments(options, *axes_of_plan, wanted.baseline)
    by_name = {table["name"]: table for table in tables}
    by_name[chosen[1].option.name] = by_name[chosen[0].option.name]
    cells = []
    for number in range(1, wanted.rounds + 1):
        source = random.Random(f"{wanted.seed}/{number}")
        for one, load in axes.shuffled(chosen, wanted.loads, source):
            work_there = wanted.work | {"workload": _at(load, wanted.work["workload"])}
            of_option = by_name[one.option.name]
            table = _scenario(wanted, one, of_option, work_there, number)
            cell = Cell(one, load, number, "")
            table |= {"name": cell.series}
            inputs = one.kernel.inputs if one.kernel else wanted.inputs
            toml = f"# {inputs}\n{toml_text.file(table)}"
            reading.parse(toml, cell.scenario, Path(cell.scenario).stem)
            cells.append(replace(cell, text=toml))
    plan = {
        "format": plans.FORMAT,
        "profile": wanted.disk,
        "workload": {
            key: wanted.work[key]
            for key in ("name", "purpose", *OF_THE_WORKLOAD)
            if key in wanted.work
        },
        "rounds": wanted.rounds,
        "loads": list(wanted.loads),
        "duration_s": wanted.duration_s,
        "seed": wanted.seed,
        "aged_percent": wanted.aged_percent,
        "inputs": wanted.inputs,
        "beside": wanted.beside,
        "looks": list(wanted.looks or [wanted.rounds]),
        "rules": wanted.rules,
        "options": [
            by_name[one.option.name]
            | one.row
            | _cut_with(one, chosen[0])
            | {"caveat": _caveat(one.option, wanted.duration_s)}
            for one in chosen
        ],
        "cells": [cell.row for cell in cells],
    }
    if wanted.kernels:
        plan["kernels"] = [asdict(kernel) for kernel in wanted.kernels]
    if wanted.factors:
        plan["severities"] = list(wanted.factors)
    return plan, cells


def seconds(cells: Sequence[Cell], duration_s: int, apart: bool = False) -> int:
    """What the cells take, one after the other; `apart`: each round has a machine."""
    machines = {
        cell.row.get("machine", cell.round if apart else None) for cell in cells
    }
    return len(cells) * (duration_s + BESIDE_S) + (len(machines) - 1) * BOOT_S


def cut_seconds(plan: dict[str, Any], times: float, writing_s: float) -> float:
    """What the cuts of all options take that have a disk, one after the other."""
    return len(plans.cut_options(plan)) * (writing_s + times * CUT_S)


def looks_within(wanted: Wanted, budget_s: int) -> tuple[int, ...]:
    """After which rounds to decide, such that the last ones are within the budget.

    Each look is a factor above the one before; more looks leave less of the error rates
    to each. Raise UserError if not even one look is within the budget.
    """
    plan, cells = make(replace(wanted, rounds=1, looks=(1,)))
    a_round_s = seconds(cells, wanted.duration_s)
    most = budget_s // a_round_s
    for number in range(MOST_LOOKS, 0, -1):
        least = _least(plan, designs.PLANNED / number)
        if number == 1 or least * MIN_GROWTH ** (number - 1) <= most:
            break
    if least > most:
        raise UserError(
            f"--budget: {most} rounds are within it, but fewer than {least} decide"
            f" nothing; {least} take {-(-least * a_round_s // 60)} minutes"
        )
    growth = (most / least) ** (1 / max(1, number - 1))
    return tuple(sorted({round(least * growth**at) for at in range(number)}))


def _least(plan: dict[str, Any], level: float) -> int:
    """The fewest rounds that can decide about all options, the baseline too."""
    others, rules = len(plan["options"]) - 2, plan["rules"]
    objective, margin = (bool(rules.get(key)) for key in ("objective", "margin"))
    known = (None, plan["options"][0]["name"])
    paired = any(row.get("against") not in known for row in plan["options"])
    return max(
        designs.least_rounds(max(1, others), PAIRED if paired else COLUMNS, level),
        designs.least_rounds(1, PAIRED, level),
        designs.least_to_judge(others + 1, objective, margin, level),
    )


def refuse_undecidable(
    wanted: Wanted, plan: dict[str, Any], cells: Sequence[Cell]
) -> None:
    """Refuse a plan in whose rounds nothing can be decided; name what would do."""
    first = plan["looks"][0]
    least = _least(plan, designs.PLANNED / len(plan["looks"]))
    if first < least:
        options, runs = len(plan["options"]) - 1, least * (len(cells) // wanted.rounds)
        minutes = least / wanted.rounds * seconds(cells, wanted.duration_s) / 60
        raise UserError(
            f"--rounds {first}: fewer than {least} rounds decide nothing about"
            f" {options} options; --rounds {least} takes {runs} runs, about"
            f" {minutes:.0f} minutes, or --trial for runs without a decision"
        )


def _at(load: int, workloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the workloads with their intervals scaled to the load.

    A command gets the load, to scale its own.
    """
    return [
        {
            key: max(1, round(value * WANTED_LOAD / load))
            if key.endswith("interval_us")
            else value
            for key, value in work.items()
        }
        | ({"load_percent": load} if work.get("kind") == "command" else {})
        for work in workloads
    ]


def _caveat(option: Option, duration_s: int) -> str | None:
    if 2 * option.period_s <= duration_s:
        return None
    return (
        f"commits by itself every {option.period_s} s: runs of {duration_s} s hardly"
        " show what that costs"
    )


def _scenario(
    wanted: Wanted,
    one: Treatment,
    of_option: dict[str, Any],
    work: dict[str, Any],
    number: int,
) -> dict[str, Any]:
    """Return the TOML table of a cell."""
    option, filesystem = one.option, dict(of_option["filesystem"])
    if wanted.aged_percent:
        filesystem["aged_percent"] = wanted.aged_percent
    return {
        "name": option.name,
        "purpose": f"{option.what}; disk {wanted.disk['name']},"
        f" workload {work['name']}",
        "duration_s": wanted.duration_s,
        "seed": wanted.seed + SEEDS_A_ROUND * number,
        "filesystem": filesystem,
        "inject": [
            severity.scaled(rule, one.factor) if one.factor else rule
            for rule in wanted.disk["inject"]
        ],
        "expect": NOTHING_EXPECTED,
    } | {key: work[key] for key in OF_THE_WORKLOAD if key in work}


def _cut_with(one: Treatment, baseline: Treatment) -> dict[str, str]:
    """Whose machines are cut for it: the disk's delays do not change what is lost."""
    if one.factor == baseline.factor:
        return {}
    return {"crash": replace(one, factor=baseline.factor, against=None).name}


def write(folder: Path, plan: dict[str, Any], cells: Sequence[Cell]) -> None:
    """Write the plan to its folder; set runs of other inputs aside, or take those of
    these inputs back. Rounds that are added to a plan are a look of their own."""
    for cell in cells:
        path = folder / cell.scenario
        if not path.exists() or path.read_text() != cell.text:
            _set_aside(folder, cell, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            _save(path, cell.text)
            _take_back(folder, cell)
    _save(folder / plans.FILE, json.dumps(_grown(folder, plan), indent=2) + "\n")


def _grown(folder: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with the looks of the one before, if it only has more rounds."""
    before = _before(folder)
    if not before or any(before.get(k) != plan[k] for k in plan if k not in GROWS):
        return plan
    looks, added = before.get("looks", []), before.get("added", [])
    if len(plan["looks"]) > 1 or not looks or plan["rounds"] in [*looks, *added]:
        return plan | {"looks": looks or plan["looks"], "added": added}
    return plan | {"looks": looks, "added": [*added, plan["rounds"]]}


def _before(folder: Path) -> dict[str, Any]:
    """The plan that is there; empty if there is none that can be read."""
    try:
        return plans.read(folder)
    except UserError:
        return {}


def _save(path: Path, text: str) -> None:
    """Write a file; a guest's link in its place is not followed."""
    files.save_inside(path.parent, path.name, text.encode())


def _set_aside(folder: Path, cell: Cell, scenario: Path) -> None:
    """Move a run of other inputs, with its scenario, to a place of its own."""
    run = folder / cell.name
    if not run.exists() or not any(run.iterdir()):
        return
    if not (run / "manifest.json").exists():
        raise UserError(f"{run} is not a run of a comparison; move it away")
    text = scenario.read_text() if scenario.exists() else ""
    _move(run, plans.earlier(folder, text) / cell.name)


def _take_back(folder: Path, cell: Cell) -> None:
    """Move a run of these inputs back, if there is one."""
    kept = plans.earlier(folder, cell.text) / cell.name
    if kept.exists():
        _move(kept, folder / cell.name)


def _move(run: Path, place: Path) -> None:
    """Move a run; one that is there already gets a number behind its name."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not any(place.iterdir()):
        place.rmdir()
    for number in count(1):
        free = place if number == 1 else place.with_name(f"{place.name}.{number}")
        if not free.exists():
            run.rename(free)
            return


def set_disturbed_aside(folder: Path) -> list[str]:
    """Set aside the runs that the host disturbed, to be repeated; return their names.

    After MOST_REPEATS a cell's run stays: it does not count, and the report says why.
    """
    refuse_special(folder)
    found = []
    for name in (row["name"] for row in _before(folder).get("cells", ())):
        run, tries = folder / name, len([*(folder / DISTURBED).glob(f"*/{name}")])
        if tries < MOST_REPEATS and _status(run) == "complete" and is_disturbed(run):
            _move(run, folder / DISTURBED / str(tries + 1) / name)
            found.append(name)
    return found


def is_disturbed(run: Path) -> bool:
    """Whether a run's client is known to have been late for more than MOST_LATE."""
    try:
        duration_s = _manifest(run)["duration_s"]
    except LookupError:
        return False
    share = lateness.late_share(run, duration_s)
    return share is not None and share > lateness.MOST_LATE


def unfinished(folder: Path) -> list[tuple[str, Path, Path]]:
    """List name, scenario and run directory of the cells to run, in order."""
    found = []
    for row in plans.read(folder)["cells"]:
        run = folder / row["name"]
        if _status(run) != "complete":
            found.append((row["name"], folder / row["scenario"], run))
    return found


def _status(run: Path) -> Any:
    return _manifest(run).get("status")


def _manifest(run: Path) -> dict[str, Any]:
    """A run's manifest; empty if there is none that can be read."""
    try:
        return dict(json.loads(files.content(run / "manifest.json", MOST_BYTES)))
    except (OSError, ValueError, TypeError):
        return {}
