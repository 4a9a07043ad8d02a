# SPDX-License-Identifier: GPL-2.0-only
"""translation: a rule to what a disk that is slow for all makes of it, or cannot.

dm-delay and scsi_debug see bios on their way into a disk, whoever submitted them, and
hold no task; dmtable.py and scsitable.py say what each of them can do beside that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject

MS_US = 1_000
# What is so, whatever a rule says; where that differs, the manifest names it.
UNSEEN: dict[str, object] = {"submitter": "*", "kind": "anyone"}
UNHELD: dict[str, object] = {"mode": "defer"}


def defaults(*names: str) -> dict[str, object]:
    """Keys to what stands there where a rule says nothing."""
    return {name: getattr(Inject(), name) for name in names}


def differing(rule: Inject, usual: Mapping[str, object]) -> Iterator[str]:
    """Those of the keys of `usual` for which the rule has another value."""
    for name, value in usual.items():
        if getattr(rule, name) != value:
            yield name


def lost(rule: Inject, always: Mapping[str, object]) -> str:
    """What an injector that always does so makes of no account, for the manifest."""
    words = {name: getattr(rule, name) for name in differing(rule, always)}
    return " ".join(
        f"{name}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in words.items()
    )


def misfits(
    rule: Inject, injector: str, cannot: Mapping[str, object], classes: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Keys of a rule that ask for what it cannot do, and why.

    `cannot` has the keys it knows nothing of, `classes` the operations it can choose.
    """
    for key in differing(rule, cannot):
        yield key, f"{injector} delays all alike"
    if rule.mode == "spin":
        yield "mode", f"{injector} burns no CPU"
    for name in rule.ops:
        if name not in classes:
            yield "ops", f"{injector} cannot choose {name}"


def refusal(scenario: Scenario, number: int, why: str, key: str = "") -> str:
    """The line that refuses a rule, or one of its keys."""
    at = f"inject[{number}]{key and f'.{key}'}"
    return f"{scenario.name}: {at}: {why}; take --injector biodelay"
