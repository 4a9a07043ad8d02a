# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the events made from bpftrace's rows: the names of calls, which
both engines share, and which calls are not writes."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest

from launcher.rows import CALLS, FIELDS, Rows
from launcher.symbols import KernelSymbols
from support import PROJECT

SCHEMA = PROJECT / "docs/events.schema.json"
LIMITS = {"ev": "limits", "floor_ns": 0, "stall_ns": 0}
CALL = {"t_ns": 1, "end_ns": 3, "sleeps": 1, "slept_ns": 2, "ret": -1, "ustack": ""}
CALL |= {"tid": 5, "pid": 5, "comm": "c", "fd": -1, "dev": 0, "ino": 0, "name": ""}
CALL |= {"parent": "", "offset": -1, "bytes": -1}


class Symbols:
    """Stands for the kernel's symbols: the stack is its own text."""

    def kernel_stack(self, text: str) -> list[str]:
        return text.split()


def known_calls() -> set[str]:
    """The values of `call` in the schema."""
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    return set(definitions["call_name"]["enum"])


def test_both_engines_call_things_by_the_names_of_the_contract() -> None:
    tapset = (PROJECT / "stap/tapset").glob("*.stp")
    kinds = r"\{ \"(\w+)\", [\w-]+, CL_"
    found = {name for path in tapset for name in re.findall(kinds, path.read_text())}
    assert found == set(CALLS.values()) == known_calls()


@pytest.mark.parametrize(
    ("stack", "events"),
    [
        ("schedule+0x1 io_write+0x2 io_issue_sqe+0x3", 1),
        ("schedule+0x1 io_fsync+0x2 io_issue_sqe+0x3", 1),
        ("schedule+0x1 io_read+0x2 io_issue_sqe+0x3", 0),
        ("schedule+0x1 mutex_lock+0x2", 0),
    ],
)
def test_io_uring_enter_is_a_write_where_it_sleeps_in_one(
    stack: str, events: int
) -> None:
    rows = Rows("stalled_writes", "0", cast(KernelSymbols, Symbols()), lambda: 0)
    call: dict[str, Any] = {"ev": "write", "call": 426, "kstack": stack}
    made: list[dict[str, Any]] = [{"type": "attached_probes"}]
    data = (LIMITS, call | CALL, {"ev": "end", "events": 1})
    made += [{"type": "value", "data": one} for one in data]
    found = [event for row in made for event in rows.events(row)]
    writes = [event for event in found if event["ev"] == "write"]
    assert [event["call"] for event in writes] == ["io_uring_enter"] * events
    assert found[-1] == {"ev": "end", "t_ns": 0, "events": events, "lost": 0}


@pytest.mark.parametrize("event", FIELDS)
def test_a_row_has_the_fields_of_the_contract(event: str) -> None:
    schema = json.loads(SCHEMA.read_text())["$defs"][event]
    assert ["ev", *FIELDS[event]] == list(schema["properties"])


def told_by_the_page() -> dict[str, set[str]]:
    """The fields of each event in the tables of docs/events.md, and the common ones."""
    told: dict[str, set[str]] = {}
    head: set[str] = set()
    page = (PROJECT / "docs/events.md").read_text()
    for event, cell in re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", page, re.MULTILINE):
        fields = set(re.findall(r"`(\w+)`", cell))
        if event == "ev":
            head = fields
        else:
            told[event] = head | fields
    return told


def test_the_page_names_the_fields_of_the_contract() -> None:
    schemas = json.loads(SCHEMA.read_text())["$defs"]
    told = told_by_the_page()
    events = {name for name, s in schemas.items() if "ev" in s.get("properties", {})}
    assert told.keys() == events
    for event in events:
        assert set(schemas[event]["properties"]) <= told[event], event
