# SPDX-License-Identifier: GPL-2.0-only
"""registry: look up an injector by name."""

from __future__ import annotations

from labrun.injectors.biodelay import Biodelay
from labrun.injectors.dm_delay import DmDelay
from labrun.injectors.interface import Injector
from labrun.injectors.scsi_debug import ScsiDebug
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import DEFAULT_INJECTOR
from writestall_base.errors import UserError

DEFAULT = DEFAULT_INJECTOR
REGISTRY: dict[str, type[Injector]] = {
    injector.name: injector for injector in (Biodelay, DmDelay, ScsiDebug)
}


def chosen(scenario: Scenario, name: str) -> type[Injector]:
    """Return the injector of that name; Injector for a scenario without rules.

    Raises UserError if it cannot do what the rules ask for, or if it is known not
    to cause the scenario's chain.
    """
    injector = REGISTRY[name] if scenario.inject else Injector
    lines = list(injector.refusals(scenario))
    if not lines and name not in scenario.injectors:
        others = " or ".join(scenario.injectors)
        lines = [f"{scenario.name}: {name} does not cause its chain; use {others}"]
    if lines:
        raise UserError(*lines)
    return injector
