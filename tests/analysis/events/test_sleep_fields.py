# SPDX-License-Identifier: GPL-2.0-only
"""This test will read back each field of a sleep, of two that differ in it alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import FieldInfo, fields

from writestall.events.contract import Address, Block, Stack
from writestall.events.decode import Decoder

FIELDS = fields(Block)


def values(field: FieldInfo) -> tuple[Any, Any]:
    """Two values of a field, as JSON has them."""
    if field.type == Stack:
        return ["schedule+0x1"], ["schedule+0x2"]
    if Address in (field.type, *getattr(field.type, "__args__", ())):
        return "0x1", "0x2"
    if str in (field.type, *getattr(field.type, "__args__", ())):
        return "one", "two"
    return 1, 2


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_no_field_is_lost(field: FieldInfo) -> None:
    decoder = Decoder()
    row: dict[str, Any] = {"ev": "block", "t_ns": 10, "dur_ns": 5, "tid": 7}
    rows = [{**row, field.name: value} for value in values(field)]
    for number, one in enumerate(rows, 1):
        assert decoder.decode(json.dumps(one).encode(), number) is None
    found = dict(decoder.blocks) | dict(decoder.waits)
    for number, one in enumerate(rows, 1):
        value = one[field.name]
        wanted = tuple(value) if isinstance(value, list) else value
        assert getattr(found[number], field.name) == wanted
