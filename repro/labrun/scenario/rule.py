# SPDX-License-Identifier: GPL-2.0-only
"""rule: check one [[inject]] table and list biodelay's attributes for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labrun.scenario import delays
from labrun.scenario.schema import key, number_key
from writestall_base.errors import UserError

INJECTORS = BIODELAY, DM_DELAY, SCSI_DEBUG = "biodelay", "dm-delay", "scsi_debug"
DEFAULT_INJECTOR = BIODELAY
MODES = ("sleep", "defer", "spin")
FLAGS = ("SYNC", "META", "PRIO", "FUA", "PREFLUSH", "RAHEAD")
# A distribution as biodelay takes it, in ns; formulas become such tables.
TABLE = re.compile(r"table( \d+:\d+)+")
# The kernel's bounds of a series (kmod/biodelay.h), whose quantiles it checks.
MAX_SEGMENTS = 2048
SEGMENT_CHARACTERS = 2000
SEGMENT = r"\d{1,10}( \d{1,10}:\d{1,11})*"
HOUR_MS = 3_600_000
VERSION = r"\d{1,2}\.\d{1,3}"
VERSION_HELP = "a kernel release like 6.12"


def version_key(help: str, *default: None) -> Any:
    """Return the key of a kernel's release."""
    return key(help, *default, pattern=VERSION, pattern_help=VERSION_HELP)


@dataclass(frozen=True)
class Inject:
    """A rule: which bios are delayed, how, and for how long."""

    delay_us: int | None = number_key("delay of a bio", (1, 30_000_000), None, "us")
    delay: str | None = key(
        "distribution instead: a formula of repro/delay-table, `lognormal 8ms 0.8`, or "
        "biodelay's own syntax, in ns",
        None,
        characters=delays.MAX_BYTES,
    )
    series: tuple[str, ...] = key(
        "distributions instead that follow one another, each `MS PPB:NS ...` in ns, in "
        "force from MS after arming on; without PPB:NS nothing is delayed",
        (),
        characters=SEGMENT_CHARACTERS,
        maximum=MAX_SEGMENTS,
        pattern=SEGMENT,
        pattern_help="MS PPB:NS PPB:NS ..., or MS alone",
    )
    dm_delay_ms: int | None = number_key(
        "delay of the whole disk with dm-delay, instead of the keys for delays",
        (1, 30_000),
        None,
        "ms",
    )
    scsi_debug_ms: int | None = key(
        "delay with scsi_debug, instead of the keys for delays except lanes",
        None,
        unit="ms",
        minimum=1,
        maximum=999,
    )
    disk: str = key(
        "delayed disk: that of --disk, or --journal-disk",
        "scratch",
        choices=("scratch", "journal"),
    )
    submitter: str = key("comm of the submitting task, a glob of * and ?", "*")
    kind: str = key(
        "type of the submitter",
        "anyone",
        choices=("anyone", "user", "kthread", "writeback"),
    )
    ops: tuple[str, ...] = key(
        "operations to delay; empty: all",
        (),
        choices=("read", "write", "flush", "discard", "zeroes", "other"),
    )
    flags_any: tuple[str, ...] = key(
        "the bio has one of these flags; empty: any", (), choices=FLAGS
    )
    flags_none: tuple[str, ...] = key(
        "the bio has none of these flags", (), choices=FLAGS
    )
    mode: str = key("how the bio is delayed", "sleep", choices=MODES)
    spin_before: str | None = version_key(
        "older kernels, on which biodelay can do nothing else, spin", None
    )
    lanes: int = number_key(
        "bios delayed at a time, the others queue; 0: no limit", (0, 64), 0
    )
    probability: int = number_key(
        "share of the matching bios that is delayed", (1, 100), 100, "%"
    )
    correlation: int = number_key(
        "chance that a delay repeats the last one", (0, 1000), 0, "permille"
    )
    space_bytes: int = number_key(
        "bytes that pass before the first delay", (0, 1 << 40), 0, "bytes"
    )
    burst_on_ms: int = number_key(
        "time with delays in each period; 0: always", (0, HOUR_MS), 0, "ms"
    )
    burst_period_ms: int = number_key("length of a period", (0, HOUR_MS), 0, "ms")


# The keys of which a rule has one.
DELAYS = ("delay_us", "delay", "series")


def mistakes(rule: Inject) -> Iterator[tuple[str, str]]:
    """List keys whose values exclude each other, and why."""
    given = [name for name in DELAYS if getattr(rule, name) not in (None, ())]
    if not given:
        yield "delay_us", "missing: delay of a bio; or give delay or series"
    for name in given[1:]:
        yield name, f"{given[0]} is set too; remove one"
    if rule.delay is not None and not TABLE.fullmatch(rule.delay):
        try:
            delays.formula(rule.delay)
        except UserError as error:
            yield "delay", str(error)
    if rule.burst_on_ms > rule.burst_period_ms:
        yield "burst_on_ms", f"longer than burst_period_ms, {rule.burst_period_ms}"


def _delay(rule: Inject) -> dict[str, str]:
    if rule.series:
        return {"series": " ".join(rule.series)}
    if rule.delay is None:
        return {"delay_us": str(rule.delay_us)}
    table = TABLE.fullmatch(rule.delay)
    return {"delay": rule.delay if table else delays.formula(rule.delay)}


def _words(rule: Inject) -> dict[str, str]:
    """Return the attributes that select bios and describe delays."""
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
    """Return attributes (kmod/README.md) by name, in the order of writing, not armed.

    Defaults are left out: biodelay has the same.
    """
    default = _words(Inject())
    given = {name: text for name, text in _words(rule).items() if text != default[name]}
    fixed = {"device": disk, "order": str(number), "seed": str(seed)}
    return fixed | given | _delay(rule)
