# SPDX-License-Identifier: GPL-2.0-only
"""variants: apply a variant to its scenario.

`gc-log:xfs` names the variant xfs of gc-log; without a colon nothing is changed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from labrun.errors import RefusedError
from labrun.scenario import schema
from labrun.scenario.keys import Scenario, Variant

# The scenario itself, in a table of its variants.
PLAIN = "plain"
# What a variant says of the first workload.
CLIENT = ("asynchronous", "on_tmpfs")
# What a variant has instead of the scenario's own.
INSTEAD = ("filesystem", "expect")


def split(name: str) -> tuple[str, str | None]:
    """The scenario's name or path, and the variant's name where there is one."""
    scenario, colon, variant = name.partition(":")
    return scenario, variant if colon else None


def label(scenario: str, variant: str | None) -> str:
    """What split() takes apart."""
    return scenario if variant is None else f"{scenario}:{variant}"


def names(scenario: Scenario) -> list[str | None]:
    """The scenario itself and its variants, in order; None is the former."""
    return [None, *(variant.name for variant in scenario.variant)]


def chosen(scenario: Scenario, name: str | None) -> Scenario:
    """The scenario with a variant of its applied. Raises RefusedError."""
    if name is None:
        return scenario
    by_name = {variant.name: variant for variant in scenario.variant}
    if name not in by_name:
        known = list(by_name)
        hint = schema.did_you_mean(name, known) if known else "; it has none"
        raise RefusedError(f"{scenario.name} has no variant {name!a}{hint}")
    return applied(scenario, by_name[name])


def applied(scenario: Scenario, variant: Variant) -> Scenario:
    """The scenario with this one change."""
    client: Any = scenario.workload[0]
    if changes := {name: True for name in CLIENT if getattr(variant, name)}:
        client = dataclasses.replace(client, **changes)
    return dataclasses.replace(
        scenario,
        expect=variant.expect,
        filesystem=variant.filesystem or scenario.filesystem,
        workload=(client, *scenario.workload[1:]),
        variant=(),
    )


def as_read(table: dict[str, Any], name: str | None) -> dict[str, Any]:
    """A scenario's own TOML table with the same change; `variant` is its name."""
    rest = {key: value for key, value in table.items() if key != "variant"}
    if name is None:
        return rest
    row = next(row for row in table["variant"] if row["name"] == name)
    first, *others = rest["workload"]
    changes = {key: row[key] for key in CLIENT if key in row}
    return (
        rest
        | {key: row[key] for key in INSTEAD if key in row}
        | {"workload": [first | changes, *others], "variant": name}
    )
