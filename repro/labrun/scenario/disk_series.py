# SPDX-License-Identifier: GPL-2.0-only
"""disk_series: make rules of a disk that was recorded (docs/replay.md).

A rule delays one class of bios by a series: the distribution of each window, less what
the lab's own disk takes. The classes have no bio in common, so the order of the rules
does not matter.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labrun.scenario.delays import MAX_NS, PPB
from labrun.scenario.distribution import Bucket
from labrun.scenario.rule import MAX_SEGMENTS, Inject
from writestall_base import files
from writestall_base.errors import UserError
from writestall_base.progress import say
from writestall_base.units import MS_NS

FORMAT = 1
MOST_BYTES = 64 << 20
# The kernel's bound of all points of a rule (kmod/biodelay.h).
MAX_POINTS = 8192
# What the lab's own disk takes: a median, measured in docs/replay.md.
OWN_NS = 130_000
# Below it a window has no delay: the tracer shows no shorter sleep.
LEAST_NS = MS_NS
LEAST_WINDOW_NS = 10 * MS_NS
# A month: the kernel's times end at 2^32 ms.
LAST_NS = 30 * 24 * 3600 * 1000 * MS_NS
# What a file of another form raises; a number may be Infinity.
WRONG = (ValueError, KeyError, TypeError, OverflowError)
# A replayed bio may come so much earlier, or later, than the one of the recording.
EARLY_NS = 5 * MS_NS
# Of a window: whether it has slow bios, whether it has others.
ALL_SLOW = True, False
# Buckets between two powers of 2 in a histogram: `ios` in docs/events.md.
PARTS = 8
FIRST_POWER = 10

BARRIER = ("PREFLUSH", "FUA")
CLASSES = {
    "flush": Inject(ops=("flush",)),
    "barrier": Inject(ops=("write",), flags_any=BARRIER),
    "write-meta": Inject(ops=("write",), flags_any=("META",), flags_none=BARRIER),
    "write": Inject(ops=("write",), flags_none=(*BARRIER, "META")),
    "read-meta": Inject(ops=("read",), flags_any=("META",)),
    "read": Inject(ops=("read",), flags_none=("META",)),
    "discard": Inject(ops=("discard",)),
    "zeroes": Inject(ops=("zeroes",)),
}
# A disk without delays is armed as any other: the replay begins when it is.
UNDELAYED = dataclasses.replace(CLASSES["write"], mode="defer", series=("0",))
Points = list[tuple[int, int]]
# From when on until when, in ns of the windows' own clock, and the delays.
Piece = tuple[int, int, Points]


@dataclass
class Recorded:
    """The bios of a class: `short` by window, `slow` as (submitted, latency) in ns, by
    the clock on which windows begin."""

    short: dict[int, list[Bucket]]
    slow: list[tuple[int, int]]


def class_of(op: str, flags: list[str]) -> str | None:
    """The class of a bio; None for one that no rule selects."""
    if op == "write" and not {"preflush", "fua"}.isdisjoint(flags):
        return "barrier"
    if op in ("read", "write") and "meta" in flags:
        return f"{op}-meta"
    return op if op in CLASSES else None


def rules(path: Path, device: str | None) -> tuple[str, tuple[Inject, ...]]:
    """The name of the disk that was chosen, and its rules; raises UserError."""
    disk, window_ns, offset_ns = _chosen(path, device)
    label = disk["name"] or disk["dev"]
    made = []
    for name, recorded in _classes(path, disk, window_ns, offset_ns).items():
        if series := _series(name, recorded, window_ns, offset_ns):
            rule = CLASSES[name]
            made.append(dataclasses.replace(rule, mode="defer", series=tuple(series)))
    if not made:
        say(
            f"replay: no bio of {label} took {LEAST_NS // MS_NS} ms longer than the "
            "lab's own disk: none is delayed"
        )
        made.append(UNDELAYED)
    return label, tuple(made)


def _chosen(path: Path, device: str | None) -> tuple[dict[str, Any], int, int]:
    """The named disk, else the first: bios took longest on it. The length of a window,
    and when the first one begins."""
    try:
        document = json.loads(files.content(path, MOST_BYTES))
        if document["format"] != FORMAT:
            raise UserError(f"{path}: format {document['format']!r}, not {FORMAT}")
        disks = document["disks"]
        named = [d for d in disks if device in (None, d["dev"], d["name"])]
        known = ", ".join(f"{d['dev']} ({d['name']})" for d in disks)
        window_ns = int(document["window_ns"])
        if not LEAST_WINDOW_NS <= window_ns <= MAX_NS:
            raise ValueError(window_ns)
        offset_ns = -_number(-document.get("offset_ns", 0), window_ns - 1)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (*WRONG, RecursionError):
        raise _unreadable(path) from None
    if not disks:
        raise UserError(f"{path}: no bios in it; record with --profile")
    if not named:
        raise UserError(f"{path}: no disk {device}; known: {known}")
    return named[0], window_ns, offset_ns


def _unreadable(path: Path) -> UserError:
    return UserError(
        f"{path}: not a series of disks; writestall export RUN --to disk makes one"
    )


def _classes(
    path: Path, disk: dict[str, Any], window_ns: int, offset_ns: int
) -> dict[str, Recorded]:
    """What each class of bios did."""
    found: dict[str, Recorded] = {}
    try:
        for kind in disk["kinds"]:
            name = class_of(kind["op"], kind["flags"])
            if name is None:
                continue
            recorded = found.setdefault(name, Recorded({}, []))
            for number, bounds, *_ in kind["windows"]:
                buckets = map(_bucket, bounds)
                window = _number(number, LAST_NS // window_ns - 1)
                recorded.short.setdefault(window, []).extend(buckets)
            recorded.slow += [
                (_number(at, LAST_NS) - offset_ns, _number(ns, LAST_NS))
                for at, ns, *_ in kind["slow"]
            ]
    except WRONG:
        raise _unreadable(path) from None
    return {name: found[name] for name in CLASSES if name in found}


def _number(value: Any, most: int) -> int:
    """A number from 0 on; raises one of WRONG."""
    number = int(value)
    if not 0 <= number <= most:
        raise ValueError(value)
    return number


_BOUND = re.compile(r"(\d{1,18}):(\d{1,18})")


def _bucket(text: str) -> Bucket:
    """The bucket that begins at a latency: probes/ios.h of the tracer has its end."""
    found = _BOUND.fullmatch(text)
    if not found:
        raise ValueError(text)
    low, count = int(found[1]), int(found[2])
    if not count:
        raise ValueError(text)
    power = max(low.bit_length() - 1, FIRST_POWER)
    return Bucket(low, low + (1 << power) // PARTS, count)


def _series(name: str, recorded: Recorded, window_ns: int, offset_ns: int) -> list[str]:
    """The segments of a class; the shortest delays are left out where they are many."""
    least_ns = LEAST_NS
    pieces = list(_pieces(recorded, window_ns))
    longest = [points[-1][1] for *_, points in pieces]
    while True:
        kept = (piece for piece in pieces if piece[2][-1][1] >= least_ns)
        segments = list(_segments(kept, offset_ns))
        points = sum(line.count(":") for line in segments)
        if len(segments) <= MAX_SEGMENTS and points <= MAX_POINTS:
            break
        least_ns *= 2
    if left := sum(LEAST_NS <= ns < least_ns for ns in longest):
        say(
            f"replay: {name}: {left} windows of {window_ns // MS_NS} ms without a bio "
            f"above {least_ns // MS_NS} ms are left out: the injector takes "
            f"{MAX_SEGMENTS} windows, {MAX_POINTS} points"
        )
    return segments


def _pieces(recorded: Recorded, window_ns: int) -> Iterator[Piece]:
    """The table of each window with bios, or with one of them in flight.

    A slow bio counts in the window of its submission. A window in which none was
    submitted and none ended has the table of the slow bio that is in flight then. Of
    bios that are not slow the window alone is known; one in which the disk becomes slow
    or quick again is cut where it does.
    """
    slow: dict[int, list[tuple[int, Bucket]]] = {}
    over: dict[int, Bucket] = {}
    for at_ns, late_ns in recorded.slow:
        bio, first = Bucket(late_ns, late_ns), at_ns // window_ns
        slow.setdefault(first, []).append((at_ns, bio))
        for number in range(first + 1, (at_ns + min(late_ns, MAX_NS)) // window_ns + 1):
            longest = max(bio, over.get(number, bio), key=lambda one: one.high_ns)
            over[number] = longest
    quick = {number for number, found in recorded.short.items() if found}
    for number in sorted(slow.keys() | over.keys() | quick):
        short, late = recorded.short.get(number, []), slow.get(number, [])
        begin, end = number * window_ns, (number + 1) * window_ns
        bios = [bio for _, bio in late]
        before, after = (
            (other in slow or (other in over and other not in quick), other in quick)
            for other in (number - 1, number + 1)
        )
        if short and late and not before[0] and after == ALL_SLOW:
            cut = max(begin, late[0][0] - EARLY_NS)
            yield begin, cut, _table(short)
            yield cut, end, _table(bios)
        elif short and late and before == ALL_SLOW and not after[0]:
            cut = min(end, late[-1][0] + EARLY_NS)
            yield begin, cut, _table(bios)
            yield cut, end, _table(short)
        else:
            yield begin, end, _table([*short, *bios] or [over[number]])


def _table(buckets: list[Bucket]) -> Points:
    """The quantiles of the delays: each group of latencies as its share of bios.

    A group is what lies between two powers of 2; its ends are those of its buckets.
    """
    groups: dict[int, Bucket] = {}
    for bucket in buckets:
        low = min(max(0, round(bucket.low_ns) - OWN_NS), MAX_NS)
        high = min(max(0, round(bucket.high_ns) - OWN_NS), MAX_NS)
        key = high.bit_length() if high >= LEAST_NS else 0
        known = groups.get(key, Bucket(low, high, 0))
        groups[key] = Bucket(
            min(low, known.low_ns),
            max(high, known.high_ns),
            known.count + bucket.count,
        )
    total, below, last = sum(g.count for g in groups.values()), 0.0, 0
    points: Points = []
    for _, group in sorted(groups.items()):
        low = max(last, round(group.low_ns))
        last = max(low, round(group.high_ns))
        points.append((round(PPB * below / total), low))
        below += group.count
        points.append((round(PPB * below / total), last))
    return points


def _segments(pieces: Iterable[Piece], offset_ns: int) -> Iterator[str]:
    """The words of biodelay's `series`: pieces that are alike are one segment."""
    last, over_ms = "", None
    for begin_ns, end_ns, points in pieces:
        begin_ms, end_ms = (
            max(0, round((ns + offset_ns) / MS_NS)) for ns in (begin_ns, end_ns)
        )
        if begin_ms == end_ms:
            continue
        if over_ms is not None and over_ms < begin_ms:
            yield str(over_ms)
            last = ""
        words = " ".join(f"{ppb}:{ns}" for ppb, ns in points)
        if words != last:
            yield f"{begin_ms} {words}"
        last, over_ms = words, end_ms
    if over_ms is not None:
        yield str(over_ms)
