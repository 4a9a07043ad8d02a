# SPDX-License-Identifier: GPL-2.0-only
"""rule: one [[inject]] of a scenario to the words biodelay's attributes take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from labrun import delays
from labrun.schema import key

INJECTORS = ("biodelay", "dm-delay", "scsi_debug")
MODES = ("sleep", "defer", "spin")
FLAGS = ("SYNC", "META", "PRIO", "FUA", "PREFLUSH", "RAHEAD")
# A distribution as biodelay takes it, in ns; formulas are made into such tables.
TABLE = re.compile(r"table( \d+:\d+)+")
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Inject:
    """One rule: which bios wait, how, and how long."""

    delay_us: int | None = key(
        "time a bio is held", None, unit="us", minimum=1, maximum=30_000_000
    )
    delay: str | None = key(
        "instead: a formula of repro/delay-table, `lognormal 8ms 0.8`, or biodelay's "
        "own words, in ns",
        None,
        characters=delays.MAX_BYTES,
    )
    dm_delay_ms: int | None = key(
        "instead of all that shapes delays, where dm-delay slows the whole disk",
        None,
        unit="ms",
        minimum=1,
        maximum=30_000,
    )
    scsi_debug_ms: int | None = key(
        "instead of all that shapes delays but lanes, where the disk is scsi_debug's",
        None,
        unit="ms",
        minimum=1,
        maximum=999,
    )
    disk: str = key(
        "disk that is slow: that of --disk, or the journal's own",
        "scratch",
        choices=("scratch", "journal"),
    )
    submitter: str = key("comm of the submitting task, a glob of * and ?", "*")
    kind: str = key(
        "who submits",
        "anyone",
        choices=("anyone", "user", "kthread", "writeback"),
    )
    ops: tuple[str, ...] = key(
        "operations held; empty: all of them",
        (),
        choices=("read", "write", "flush", "discard", "zeroes", "other"),
    )
    flags_any: tuple[str, ...] = key(
        "flags of which a bio has one; empty: no matter", (), choices=FLAGS
    )
    flags_none: tuple[str, ...] = key("flags a bio has none of", (), choices=FLAGS)
    mode: str = key("way of holding", "sleep", choices=MODES)
    lanes: int = key(
        "bios served at once, the others queue; 0: no limit", 0, minimum=0, maximum=64
    )
    probability: int = key(
        "share of these bios that is held", 100, unit="%", minimum=1, maximum=100
    )
    correlation: int = key(
        "chance that a delay repeats the last one",
        0,
        unit="permille",
        minimum=0,
        maximum=1000,
    )
    space_bytes: int = key(
        "bytes that pass before the first delay",
        0,
        unit="bytes",
        minimum=0,
        maximum=1 << 40,
    )
    burst_on_ms: int = key(
        "slow so long in each period; 0: always",
        0,
        unit="ms",
        minimum=0,
        maximum=HOUR_MS,
    )
    burst_period_ms: int = key(
        "length of a period", 0, unit="ms", minimum=0, maximum=HOUR_MS
    )


def mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
    """Keys whose values, each fine alone, do not fit together, and why."""
    if rule.delay_us is None and rule.delay is None:
        yield "delay_us", "missing: time a bio is held; or give delay"
    if rule.delay_us is not None and rule.delay is not None:
        yield "delay", "delay_us is there too; leave one out"
    if rule.delay is not None and not TABLE.fullmatch(rule.delay):
        try:
            delays.formula(rule.delay)
        except delays.InputError as error:
            yield "delay", str(error)
    if rule.burst_on_ms > rule.burst_period_ms:
        yield "burst_on_ms", f"longer than burst_period_ms, {rule.burst_period_ms}"


def _delay(rule: Inject) -> dict[str, str]:
    if rule.delay is None:
        return {"delay_us": str(rule.delay_us)}
    table = TABLE.fullmatch(rule.delay)
    return {"delay": rule.delay if table else delays.formula(rule.delay)}


def _words(rule: Inject) -> dict[str, str]:
    """The attributes that choose bios and shape the delays."""
    return {
        "submitter": rule.submitter,
        "kind": rule.kind,
        "ops": ",".join(rule.ops),
        "flags_any": ",".join(rule.flags_any),
        "flags_none": ",".join(rule.flags_none),
        "mode": rule.mode,
        "lanes": str(rule.lanes),
        "probability": str(rule.probability),
        "correlation": str(rule.correlation),
        "space": str(rule.space_bytes),
        "burst": f"{rule.burst_on_ms} {rule.burst_period_ms}",
    }


def attributes(rule: Inject, number: int, disk: str, seed: int) -> dict[str, str]:
    """Attributes (kmod/README.md) by name, in the order of writing, not armed.

    What a scenario leaves at its default is left at biodelay's, which is the same.
    """
    default = _words(Inject())
    told = {name: text for name, text in _words(rule).items() if text != default[name]}
    fixed = {"device": disk, "order": str(number), "seed": str(seed)}
    return fixed | told | _delay(rule)
