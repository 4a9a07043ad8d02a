# SPDX-License-Identifier: GPL-2.0-only
"""variants: apply a variant to its scenario.

`gc-log:xfs` is the variant xfs of gc-log.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from labrun.scenario import schema
from labrun.scenario.keys import AnyWorkload, Scenario, Variant
from labrun.scenario.kinds import Command
from writestall_base.errors import UserError

# The scenario itself, in a table of its variants.
PLAIN = "plain"
# Keys of a variant for the first workload.
CLIENT = ("asynchronous", "on_tmpfs")
# Variables for commands.
ENVIRONMENT = "environment"
# Keys that replace the scenario's own.
INSTEAD = ("filesystem", "cgroup", "expect")


def split(name: str) -> tuple[str, str | None]:
    """Split into the scenario's name or path and the variant's name, or None."""
    scenario, colon, variant = name.partition(":")
    return scenario, variant if colon else None


def label(scenario: str, variant: str | None) -> str:
    """Join what split() splits."""
    return scenario if variant is None else f"{scenario}:{variant}"


def names(scenario: Scenario) -> list[str | None]:
    """List the variants in order, after None for the scenario itself."""
    return [None, *(variant.name for variant in scenario.variant)]


def chosen(scenario: Scenario, name: str | None) -> Scenario:
    """Return the scenario with one of its variants. Raises UserError."""
    if name is None:
        return scenario
    by_name = {variant.name: variant for variant in scenario.variant}
    if name not in by_name:
        known = list(by_name)
        hint = schema.did_you_mean(name, known) if known else "; it has none"
        raise UserError(f"{scenario.name} has no variant {name!a}{hint}")
    return applied(scenario, by_name[name])


def applied(scenario: Scenario, variant: Variant) -> Scenario:
    """Return the scenario with this change."""
    client: Any = scenario.workload[0]
    if changes := {name: True for name in CLIENT if getattr(variant, name)}:
        client = dataclasses.replace(client, **changes)
    works = map(
        partial(_with_environment, variant.environment),
        (client, *scenario.workload[1:]),
    )
    return dataclasses.replace(
        scenario,
        expect=variant.expect,
        filesystem=variant.filesystem or scenario.filesystem,
        cgroup=variant.cgroup if variant.cgroup is not None else scenario.cgroup,
        workload=tuple(works),
        variant=(),
    )


def _with_environment(
    environment: dict[str, str | int], work: AnyWorkload
) -> AnyWorkload:
    """Return a workload with these variables, if it is a command."""
    if not environment or not isinstance(work, Command):
        return work
    return dataclasses.replace(work, environment=work.environment | environment)


def as_read(table: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Return the scenario's TOML table with the same change; `variant` is its name."""
    rest = {key: value for key, value in table.items() if key != "variant"}
    if name is None:
        return rest
    row = next(row for row in table["variant"] if row["name"] == name)
    first, *others = rest["workload"]
    changes = {key: row[key] for key in CLIENT if key in row}
    works = [first | changes, *others]
    if added := row.get(ENVIRONMENT):
        works = [
            work | {ENVIRONMENT: work.get(ENVIRONMENT, {}) | added}
            if work.get("kind") == "command"
            else work
            for work in works
        ]
    return (
        rest
        | {key: row[key] for key in INSTEAD if key in row}
        | {"workload": works, "variant": name}
    )
