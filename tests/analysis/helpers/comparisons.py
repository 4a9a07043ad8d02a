# SPDX-License-Identifier: GPL-2.0-only
"""comparisons: make folders of comparisons from latencies, run by run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

import build
from writestall.events.hlog import DIGITS, HIGHEST_NS

MS = 1_000_000
DURATION_S = 4


@dataclass
class Made:
    """One run: latencies in ms, one list for each second; what went wrong with it.

    Of each second's requests the last `undone` never began.
    """

    seconds: Sequence[Sequence[float]]
    late_ns: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    stalled: bool = False
    undone: int = 0


def hlog(seconds: Sequence[Sequence[float]]) -> str:
    """An HdrHistogram log with an interval for each second."""
    text = "#[Histogram log format version 1.3]\n"
    for at, values_ms in enumerate(seconds):
        text += f"{at}.000,1.000,1.000,{_encoded(tuple(values_ms))}\n"
    return text


@cache
def _encoded(values_ms: tuple[float, ...]) -> str:
    """One interval; most of a test's runs have the same ones."""
    histogram = HdrHistogram(1, HIGHEST_NS, DIGITS)
    for value_ms in values_ms:
        histogram.record_value(int(value_ms * MS))
    return str(histogram.encode().decode())


def _run(path: Path, made: Made) -> None:
    client = [
        {"ev": "begin", "t_ns": 0, "interval_ns": MS, "bytes": 200, "writers": 2},
        {"ev": "end", "t_ns": 1, "writes": 1, "late_ns": made.late_ns},
    ]
    events = build.cascade() if made.stalled else build.Events("stap").end()
    manifest = {
        "duration_s": DURATION_S,
        "clock": {"monotonic_ns": 0, "realtime_ns": 1_790_000_000 * 10**9},
        **made.more,
    }
    build.run_dir(path, events, client=client, **manifest)
    (path / "writer.hlog").write_text(hlog(made.seconds))
    done = [second[: len(second) - made.undone] for second in made.seconds]
    halves = [[ms / 2 for ms in second] for second in done]
    (path / "writer-service.hlog").write_text(hlog(halves))


AGAIN = "-again"
Options = Mapping[str, Sequence[Made | None]]


def comparison(
    path: Path, options: Options, more: Mapping[int, Options] | None = None
) -> Path:
    """A comparison's folder; a run that is None was never begun.

    `options` are those at the wanted load, `more` those at others, by percent. The
    first one is the baseline; one whose name is NAME-again repeats NAME; NAME@KERNEL is
    compared with the first one of that NAME, NAME@2x with the first one at 2x.
    """
    levels = {**(more or {}), 100: options}
    rounds = max(len(runs) for runs in options.values())
    rows = [
        (load, name, number, made)
        for load, row in levels.items()
        for name, runs in row.items()
        for number, made in enumerate([*runs, *[None] * (rounds - len(runs))], 1)
    ]
    cells = [
        {"option": name, "load": load, "round": at, "name": f"{name}-at-{load}/{at}"}
        for load, name, at, _ in rows
    ]
    plan = {
        "format": 1,
        "profile": {"name": "slow", "purpose": "Slow.", "provenance": "Made up."},
        "workload": {"name": "work", "purpose": "Works."},
        "rounds": rounds,
        "loads": sorted(levels),
        "cells": cells,
        "duration_s": DURATION_S,
        "seed": 1,
        "aged_percent": 0,
        "options": [
            {
                "name": name,
                "what": f"what {name} is",
                "filesystem": {"type": "ext4"},
                "caveat": None,
                "repeats": name.replace(AGAIN, "") if AGAIN in name else None,
                **_on(name, options),
            }
            for name in options
        ],
        "kernels": [{"name": one, "given": one} for one in _kernels(options)],
        "severities": [float(one[:-1]) for one in _places(options) if one[-1] == "x"],
    }
    (path / "machines").mkdir(parents=True)
    (path / "plan.json").write_text(json.dumps(plan))
    machine = {"accel": "tcg", "qemu": "10.0.13", "complaints": []}
    (path / "machines/1.json").write_text(json.dumps(machine))
    for cell, (*_, made) in zip(cells, rows, strict=True):
        if made is not None:
            _run(path / str(cell["name"]), made)
    return path


def _places(names: Iterable[str]) -> list[str]:
    """The kernels and severities that options name."""
    found = (name.partition("@")[2] for name in names)
    return list(dict.fromkeys(filter(None, found)))


def _kernels(names: Iterable[str]) -> list[str]:
    return [one for one in _places(names) if one[-1] != "x"]


def _on(name: str, names: Iterable[str]) -> dict[str, str]:
    """What a plan says of NAME@KERNEL, or NAME@2x."""
    option, _, place = name.partition("@")
    if not place:
        return {}
    known = list(names)
    first = next(one for one in known if one.partition("@")[0] == option)
    if place[-1] == "x" and option != known[0].partition("@")[0]:
        first = next(one for one in known if one.endswith(f"@{place}"))
        first = name if first == known[0] else first
    where = {"severity" if place[-1] == "x" else "kernel": place}
    return where | ({"against": first} if first != name else {})


def steady(*latencies_ms: float, **more: Any) -> Made:
    """A run with the same latencies in each second."""
    return Made([latencies_ms] * DURATION_S, **more)


def cut(
    path: Path,
    option: str,
    lost_synced: int,
    number: int = 1,
    volatile: bool = False,
    damage: str | None = None,
) -> None:
    """What the option kept when its machine was cut for that time."""
    plain = {"written": 95, "synced": 0, "lost": 11, "lost_synced": 0, "torn": 1}
    synced = {"written": 95, "synced": 90, "lost": 5 + lost_synced}
    synced |= {"lost_synced": lost_synced, "torn": lost_synced}
    kept = {"plain": plain | {"lost_ms": 12_480.0}, "synced": synced | {"lost_ms": 1.0}}
    place = path / "crash" / option / str(number)
    place.mkdir(parents=True, exist_ok=True)
    cache = {"cache": {"seed": "1", "chance": 1.0}} if volatile else {}
    row = {"option": option, "damage": damage} | kept | cache
    (place / f"{option}.json").write_text(json.dumps(row))


# Options whose latencies are known: eight runs of each, enough for a clear difference.
QUICK = [steady(*[1.0 + at / 10] * 99, 5.0 + at) for at in range(8)]
SLOW = [steady(*[1.0 + at / 10] * 99, 900.0 + at, stalled=True) for at in range(8)]
