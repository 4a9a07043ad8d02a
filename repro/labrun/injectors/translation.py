# SPDX-License-Identifier: GPL-2.0-only
"""translation: what dm-delay and scsi_debug have in common when they read a rule.

Both delay the bios of a disk whoever submitted them, and hold no task. dm_table.py and
scsi_table.py have the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject

MS_US = 1_000
# Both ignore these keys; the manifest names those that a rule sets.
UNSEEN: dict[str, object] = {"submitter": "*", "kind": "anyone"}
UNHELD: dict[str, object] = {"mode": "defer"}


def defaults(*names: str) -> dict[str, object]:
    """Return the default values of these keys."""
    return {name: getattr(Inject(), name) for name in names}


def differing(rule: Inject, usual: Mapping[str, object]) -> Iterator[str]:
    """List the keys of `usual` that have another value in the rule."""
    for name, value in usual.items():
        if getattr(rule, name) != value:
            yield name


def lost(rule: Inject, always: Mapping[str, object]) -> str:
    """Return the settings that an injector ignores, for the manifest."""
    words = {name: getattr(rule, name) for name in differing(rule, always)}
    return " ".join(
        f"{name}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in words.items()
    )


def misfits(
    rule: Inject, injector: str, cannot: Mapping[str, object], classes: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """List the keys of a rule that the injector cannot do, and why.

    `cannot` has the keys it does not support, `classes` the operations it can select.
    """
    for key in differing(rule, cannot):
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
