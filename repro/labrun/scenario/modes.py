# SPDX-License-Identifier: GPL-2.0-only
"""modes: the mode of a rule: as written, by --mode, by the kernel."""

from __future__ import annotations

import dataclasses
from typing import Any

from labrun.scenario.keys import Scenario
from labrun.scenario.rule import Inject
from writestall_base.errors import UserError
from writestall_base.releases import version


def applied(scenario: Scenario, mode: str | None) -> Scenario:
    """Return the scenario with that mode in every rule; None changes nothing.

    Raises UserError if there are no rules.
    """
    if mode is None:
        return scenario
    if not scenario.inject:
        raise UserError(f"--mode {mode}: {scenario.name} has no rules; remove --mode")
    rules = tuple(dataclasses.replace(rule, mode=mode) for rule in scenario.inject)
    return dataclasses.replace(scenario, inject=rules)


def as_read(table: dict[str, Any], mode: str | None) -> dict[str, Any]:
    """Return the scenario's TOML table with the same change."""
    if mode is None:
        return table
    return table | {"inject": [rule | {"mode": mode} for rule in table["inject"]]}


def on_kernel(rule: Inject, release: str) -> Inject:
    """Return the rule as the kernel of that release can do it."""
    before = rule.spin_before
    if before is None or version(release) >= version(before):
        return rule
    return dataclasses.replace(rule, mode="spin")
