# SPDX-License-Identifier: GPL-2.0-only
"""ways: an injector's name to the way it slows a disk."""

from __future__ import annotations

from labrun.errors import RefusedError
from labrun.injectors.biodelay import Biodelay
from labrun.injectors.dm_delay import DmDelay
from labrun.injectors.interface import Injector
from labrun.injectors.scsi_debug import ScsiDebug
from labrun.scenario.keys import Scenario

DEFAULT = Biodelay.name
WAYS: dict[str, type[Injector]] = {
    way.name: way for way in (Biodelay, DmDelay, ScsiDebug)
}


def chosen(scenario: Scenario, name: str) -> type[Injector]:
    """The way of that name, or none for a scenario without rules.

    Raises RefusedError where the rules ask for what it cannot do, or where it does
    that and the scenario's chain is known not to come of it.
    """
    way = WAYS[name] if scenario.inject else Injector
    lines = list(way.refusals(scenario))
    if not lines and name not in scenario.injectors:
        others = " or ".join(scenario.injectors)
        lines = [f"{scenario.name}: {name} does not make its chain; take {others}"]
    if lines:
        raise RefusedError(*lines)
    return way
