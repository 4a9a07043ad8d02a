# SPDX-License-Identifier: GPL-2.0-only
"""to_disk_series: write what a run's disks did as a series, for `lab --from`.

docs/disk-series.schema.json defines the file, docs/replay.md explains it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from writestall.chain.answers import Answer
from writestall.events.contract import Io, Ios
from writestall.events.run_directory import json_bytes, tables

FORMAT = 1
WINDOW_NS = 100_000_000
COUNTED = re.compile(r"\d{1,18}(:\d{1,18}){1,2}")

Texts = tuple[str, ...]
# Device, operation and flags.
Kind = tuple[str, str, Texts]


class Bios(msgspec.Struct):
    """The bios of one kind.

    windows  number of a window, from the one on in which the recording began, and the
             latencies, depths and gaps of an `ios` event of those that ended in it
    slow     submission in ns since the start, latency in ns, bytes, depth and gap; in
             time order
    """

    op: str
    flags: tuple[str, ...]
    windows: list[tuple[int, Texts, Texts, Texts]] = []
    slow: list[tuple[int, int, int, int | None, int | None]] = []


def document(answer: Answer) -> str:
    """The file, as JSON: times in ns since the recording began."""
    begun_ns = start_ns(answer)
    ends = (row.t_ns + row.dur_ns for row in _events(answer))
    made = json_bytes(
        {
            "format": FORMAT,
            "window_ns": WINDOW_NS,
            "offset_ns": -(begun_ns % WINDOW_NS),
            "dur_ns": max(0, max(ends, default=begun_ns) - begun_ns),
            "lost": sum(one.count for one in answer.stream.lost if one.what == "ios"),
            "disks": _disks(answer),
        }
    )
    return made.decode()


def devices(answer: Answer) -> list[str]:
    """The numbers of its disks, the one that bios took longest on first."""
    return [str(disk["dev"]) for disk in _disks(answer)]


def start_ns(answer: Answer) -> int:
    """When the recording began; else the first event."""
    start_ns = answer.run.get("window", "start_ns")
    begin = answer.stream.begin
    if isinstance(start_ns, int):
        return start_ns
    first = min((row.t_ns for row in _events(answer)), default=0)
    return begin.t_ns if begin else first


def _events(answer: Answer) -> list[Io | Ios]:
    return [*answer.stream.series, *(row for _, row in answer.stream.ios)]


def _kinds(answer: Answer) -> dict[Kind, Bios]:
    """The bios of each kind, times since the recording began."""
    begun_ns, kinds = start_ns(answer), dict[Kind, Bios]()

    def bios(event: Io | Ios) -> Bios:
        key = event.dev or "", event.op or "other", event.flags
        return kinds.setdefault(key, Bios(*key[1:]))

    for row in sorted(answer.stream.series, key=lambda one: one.t_ns):
        number = row.t_ns // WINDOW_NS - begun_ns // WINDOW_NS
        lists = row.latencies, row.depths, row.gaps
        late, deep, far = (tuple(filter(COUNTED.fullmatch, one)) for one in lists)
        if number >= 0:
            bios(row).windows.append((number, late, deep, far))
    for _, io in sorted(answer.stream.ios, key=lambda one: one[1].t_ns):
        at_ns, late_ns = io.t_ns - begun_ns, io.dur_ns - (io.throttled_ns or 0)
        if at_ns >= 0 and late_ns > 0:
            bios(io).slow.append((at_ns, late_ns, io.bytes or 0, io.depth, io.gap))
    return kinds


def _disks(answer: Answer) -> list[dict[str, Any]]:
    """Each device, the one that bios took longest on first."""
    names = {
        row.get("dev"): row.get("name")
        for disk in tables(answer.run.get("disks"))
        for row in (disk, *tables(disk.get("partitions")))
    }
    found: dict[str, list[Bios]] = {}
    for (dev, *_), bios in sorted(_kinds(answer).items()):
        found.setdefault(dev, []).append(bios)
    return [
        {"dev": dev, "name": names.get(dev), "kinds": found[dev]}
        for dev in sorted(found, key=lambda dev: -_took_ns(found[dev]))
        if dev
    ]


def _took_ns(kinds: list[Bios]) -> int:
    """The sum of all latencies, from below."""
    short = (
        int(ns) * int(count)
        for bios in kinds
        for _, bounds, *_ in bios.windows
        for ns, count in (one.split(":") for one in bounds)
    )
    return sum(short) + sum(late_ns for bios in kinds for _, late_ns, *_ in bios.slow)
