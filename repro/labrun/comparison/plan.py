# SPDX-License-Identifier: GPL-2.0-only
"""plan: write the cells of a comparison of file systems.

A cell is one option at one load in one round. Each round runs all of them once, in an
order of its own, and gives all of them the same seed: the same disk and the same
writers, so that what differs within a round is the option, and what drifts hits all
alike. A load is a share of what the workload asks for: options are not to be compared
where one of them is beyond its breaking point.
A finished cell stays: a plan made again with the same inputs goes on where it was.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labrun.comparison import matrix
from labrun.comparison.matrix import Option
from labrun.scenario import reading, toml_text
from writestall_base.errors import UserError

FORMAT = 1
FILE = "plan.json"
# Rules and writers of a run have seeds from the run's on.
SEEDS_A_ROUND = 1_000
WANTED_LOAD = 100  # percent of what the workload asks for
OF_THE_WORKLOAD = (
    *("workload", "sysctl", "queue", "memory", "trace", "kernel"),
    "machine",
)
NOTHING_EXPECTED = {
    "chain": [],
    "stalled_writes_min": 0,
    "stall_ms_min": 0,
    "writer_untouched": False,
}


@dataclass(frozen=True)
class Wanted:
    """The request; `inputs` names what else the results depend on."""

    profile: str
    workload: str
    words: tuple[str, ...]
    rounds: int
    duration_s: int
    seed: int
    aged_percent: int
    inputs: str
    loads: tuple[int, ...] = (WANTED_LOAD,)


@dataclass(frozen=True)
class Cell:
    """A planned run: its scenario's file and text, and its folder."""

    option: str
    load: int
    round: int
    text: str

    @property
    def series(self) -> str:
        """The name of its runs in all rounds."""
        return self.option + (f"-at-{self.load}" if self.load != WANTED_LOAD else "")

    @property
    def name(self) -> str:
        """Its folder in that of the comparison."""
        return f"{self.series}/{self.round}"

    @property
    def scenario(self) -> str:
        """Its scenario's file in the folder of the comparison."""
        return f"scenarios/{self.round}/{self.series}.toml"


def make(wanted: Wanted) -> tuple[dict[str, Any], list[Cell]]:
    """Return the plan as JSON and its cells in the order of the runs."""
    _, disk_table = matrix.profile(wanted.profile)
    work, work_table = reading.load(reading.find(wanted.workload))
    known, tables = matrix.options()
    chosen = matrix.choose(known, wanted.words)
    by_name = {table["name"]: table for table in tables}
    cells = []
    for number in range(1, wanted.rounds + 1):
        order = [(option, load) for load in wanted.loads for option in chosen]
        random.Random(f"{wanted.seed}/{number}").shuffle(order)
        for option, load in order:
            work_there = work_table | {"workload": _at(load, work_table["workload"])}
            table = _scenario(wanted, option, by_name, disk_table, work_there, number)
            cell = Cell(option.name, load, number, "")
            table |= {"name": cell.series}
            told = f"# {wanted.inputs}\n{toml_text.file(table)}"
            reading.parse(told, cell.scenario, Path(cell.scenario).stem)
            cells.append(replace(cell, text=told))
    plan = {
        "format": FORMAT,
        "profile": disk_table,
        "workload": {"name": work.name, "purpose": work.purpose}
        | {key: work_table[key] for key in OF_THE_WORKLOAD if key in work_table},
        "rounds": wanted.rounds,
        "loads": list(wanted.loads),
        "duration_s": wanted.duration_s,
        "seed": wanted.seed,
        "aged_percent": wanted.aged_percent,
        "inputs": wanted.inputs,
        "options": [
            by_name[option.name] | {"caveat": _caveat(option, wanted.duration_s)}
            for option in chosen
        ],
        "cells": [
            {"option": cell.option, "load": cell.load, "round": cell.round}
            | {"name": cell.name, "scenario": cell.scenario}
            for cell in cells
        ],
    }
    return plan, cells


def _at(load: int, workloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the workloads with their intervals scaled to the load.

    A command is told the load, to scale its own.
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
    option: Option,
    tables: dict[str, dict[str, Any]],
    disk: dict[str, Any],
    work: dict[str, Any],
    number: int,
) -> dict[str, Any]:
    """Return the TOML table of a cell."""
    filesystem = dict(tables[option.name]["filesystem"])
    if wanted.aged_percent:
        filesystem["aged_percent"] = wanted.aged_percent
    return {
        "name": option.name,
        "purpose": f"{option.what}; disk {disk['name']}, workload {work['name']}",
        "duration_s": wanted.duration_s,
        "seed": wanted.seed + SEEDS_A_ROUND * number,
        "filesystem": filesystem,
        "inject": disk["inject"],
        "expect": NOTHING_EXPECTED,
    } | {key: work[key] for key in OF_THE_WORKLOAD if key in work}


def write(folder: Path, plan: dict[str, Any], cells: Sequence[Cell]) -> None:
    """Write the plan to its folder; remove runs of other inputs."""
    for cell in cells:
        path = folder / cell.scenario
        if not path.exists() or path.read_text() != cell.text:
            _forget(folder / cell.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            _put(path, cell.text)
    _put(folder / FILE, json.dumps(plan, indent=2) + "\n")


def _put(path: Path, text: str) -> None:
    """Write a file in one rename; a guest's link in its place is not followed."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with part.open("x") as file:
        file.write(text)
    part.replace(path)


def _forget(run: Path) -> None:
    """Remove a run directory; refuse anything else."""
    if not run.exists() or not any(run.iterdir()):
        return
    if not (run / "manifest.json").exists():
        raise UserError(f"{run} is not a run of a comparison; move it away")
    shutil.rmtree(run)


def unfinished(folder: Path) -> list[tuple[str, Path, Path]]:
    """List name, scenario and run directory of the cells to run, in order."""
    try:
        plan = json.loads((folder / FILE).read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / FILE}: {error}; make the plan first") from None
    found = []
    for row in plan["cells"]:
        run = folder / row["name"]
        if _status(run) != "complete":
            found.append((row["name"], folder / row["scenario"], run))
    return found


def _status(run: Path) -> str | None:
    try:
        status = json.loads((run / "manifest.json").read_text())["status"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(status)
