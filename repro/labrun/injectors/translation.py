# SPDX-License-Identifier: GPL-2.0-only
"""translation: what dm-delay and scsi_debug have in common when they read a rule.

Both delay the bios of a disk whoever submitted them, and hold no task. dm_table.py and
scsi_table.py have the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields

from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject

MS_US = 1_000
# These keys say something only beside another key, or to one injector.
BESIDE = ("burst_period_ms", "dm_delay_ms", "scsi_debug_ms", "spin_before")


def unable(rule: Inject, known: Collection[str]) -> Iterator[str]:
    """List the keys set in a rule that an injector neither can do nor ignores."""
    default = type(rule)()
    for name in (field.name for field in fields(rule)):
        is_set = getattr(rule, name) != getattr(default, name)
        if is_set and name not in (*known, *BESIDE):
            yield name


def lost(rule: Inject, can: Collection[str], ignored: Collection[str]) -> str:
    """Return the settings that an injector leaves out, for the manifest.

    Neither holds a task: mode = "defer" is what they do.
    """
    default = type(rule)(mode="defer")
    words = {
        name: getattr(rule, name)
        for name in (*ignored, *unable(rule, (*can, *ignored)))
        if getattr(rule, name) != getattr(default, name)
    }
    return " ".join(
        f"{name}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in words.items()
    )


def misfits(
    rule: Inject, injector: str, known: Collection[str] | None, classes: Collection[str]
) -> Iterator[tuple[str, str]]:
    """List the keys of a rule that the injector cannot do, and why.

    `known` are the keys that it can do or ignores, None for all; `classes` the
    operations that it can select.
    """
    for key in () if known is None else unable(rule, known):
        yield key, f"{injector} delays every bio alike"
    if rule.mode == "spin":
        yield "mode", f"{injector} cannot busy-wait"
    for name in rule.ops:
        if name not in classes:
            yield "ops", f"{injector} cannot select {name}"


def refusal(scenario: Scenario, number: int, why: str, key: str = "") -> str:
    """Return the message that refuses a rule, or one of its keys."""
    at = f"inject[{number}]{key and f'.{key}'}"
    return f"{scenario.name}: {at}: {why}; use --injector biodelay"
