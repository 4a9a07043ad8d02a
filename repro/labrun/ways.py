# SPDX-License-Identifier: GPL-2.0-only
"""ways: an injector's name to the way it slows a disk."""

from __future__ import annotations

from labrun.biodelay import Biodelay
from labrun.dmdelay import DmDelay
from labrun.errors import RefusedError
from labrun.injector import Injector
from labrun.scenario import Scenario

DEFAULT = Biodelay.name
WAYS: dict[str, type[Injector]] = {way.name: way for way in (Biodelay, DmDelay)}


def chosen(scenario: Scenario, name: str) -> type[Injector]:
    """The way of that name, or none for a scenario without rules.

    Raises RefusedError where the rules ask for what it cannot do.
    """
    way = WAYS[name] if scenario.inject else Injector
    if lines := list(way.refusals(scenario)):
        raise RefusedError(*lines)
    return way
