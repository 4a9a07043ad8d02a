# SPDX-License-Identifier: GPL-2.0-only
"""test_new_keys: give a rule a key that no injector knows yet, and look for each key
in what an injector is asked to do."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from labrun.injectors.dm_delay import DmDelay
from labrun.injectors.scsi_debug import ScsiDebug
from labrun.injectors.whole_disk import WholeDisk
from labrun.scenario.rule import Inject, attributes

Extended: Any = dataclasses.make_dataclass(
    "Extended",
    [("ioprio", str, dataclasses.field(default=""))],
    bases=(Inject,),
    frozen=True,
)
# `disk` becomes the attribute `device`; the others are for other injectors and modes.
NO_ATTRIBUTES = {"disk", "dm_delay_ms", "scsi_debug_ms", "spin_before"}
TABLES = pytest.mark.parametrize("table", [DmDelay, ScsiDebug])


@TABLES
def test_a_new_key_is_refused_by_name(table: type[WholeDisk]) -> None:
    assert not list(table.mistakes(Extended(delay_us=1_000)))
    ((key, why),) = table.mistakes(Extended(delay_us=1_000, ioprio="idle"))
    assert key == "ioprio"
    assert why.endswith("delays every bio alike")


@TABLES
def test_the_manifest_says_that_it_is_lost(table: type[WholeDisk]) -> None:
    rule = Extended(dm_delay_ms=9, scsi_debug_ms=9, mode="defer", ioprio="idle")
    assert not list(table.mistakes(rule))
    assert table.lost(rule) == "ioprio=idle"


def _another(field: dataclasses.Field[Any]) -> Any:
    """A value that is not the default of a key."""
    choices = field.metadata["key"].choices
    if choices:
        other = next(one for one in choices if one != field.default)
        return (other,) if isinstance(field.default, tuple) else other
    return 7 if isinstance(field.default, int) or field.default is None else "other"


@pytest.mark.parametrize("field", dataclasses.fields(Inject), ids=lambda key: key.name)
def test_biodelay_does_every_key_that_is_for_it(field: dataclasses.Field[Any]) -> None:
    usual = Inject(delay_us=1)
    rule = dataclasses.replace(usual, **{field.name: _another(field)})
    if field.name == "delay":
        rule = dataclasses.replace(usual, delay="table 1:1")
    same = attributes(rule, 0, "vdb", 1) == attributes(usual, 0, "vdb", 1)
    assert same == (field.name in NO_ATTRIBUTES)
