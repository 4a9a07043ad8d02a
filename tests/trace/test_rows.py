# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the events made from bpftrace's rows: the names of calls, which
both engines share, and which calls are not writes."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest

from launcher.calls import CALLS, NAMES, masks, path_told
from launcher.errors import TraceError
from launcher.rows import BELOW, FIELDS, Rows
from launcher.symbols import KernelSymbols
from support import PROJECT

SCHEMA = PROJECT / "docs/events.schema.json"
LIMITS = {"ev": "limits", "floor_ns": 0, "stall_ns": 0}
CALL = {"t_ns": 1, "end_ns": 3, "sleeps": 1, "slept_ns": 2, "ret": -1, "ustack": ""}
CALL |= {"tid": 5, "pid": 5, "comm": "c", "fd": -1, "dev": 0, "ino": 0, "name": ""}
CALL |= {"parent": "", "offset": -1, "bytes": -1}
GROUPS = {"cgroup": 7, "io_cgroup": 1, "io_hierarchy": 0}
CALL |= {"groups": GROUPS}


class Symbols:
    """Stands for the kernel's symbols: the stack is its own text."""

    def kernel_stack(self, text: str) -> list[str]:
        return text.split()


def known_calls() -> set[str]:
    """The values of `call` in the schema."""
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    return set(definitions["call_name"]["enum"])


def test_calls_have_the_names_of_the_contract() -> None:
    assert set(CALLS) == set(NAMES.values()) == known_calls()


def test_both_engines_ask_for_the_same_functions() -> None:
    tapset = (PROJECT / "stap/tapset/inflight.stp").read_text()
    found: dict[str, tuple[str, ...]] = {}
    for call, function in re.findall(r"\{ \"(\w+)\", \"(\w+\+)\" \}", tapset):
        found[call] = (*found.get(call, ()), function)
    assert found == BELOW


def test_calls_are_chosen_by_name_and_group() -> None:
    every = masks(",".join({row["group"] for row in CALLS.values()}))
    assert sum(int(mask).bit_count() for mask in every.values()) == len(CALLS)
    chosen = masks("mkdir,faults")
    places = [at for at, name in enumerate(CALLS) if name in ("mkdir", "page_fault")]
    assert len(places) == 2
    for number, mask in enumerate(chosen.values()):
        here = [at % 32 for at in places if at // 32 == number]
        assert mask == sum(1 << bit for bit in here)


def test_a_call_that_is_not_known_is_refused() -> None:
    with pytest.raises(TraceError, match=r"--call mkdri: no call of a file system"):
        masks("fsync,mkdri")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/mnt/lab/gc.log", "lab/gc.log"),
        ("/gc.log", "/gc.log"),
        ("gc.log", "cwd/gc.log"),
        ("./gc.log", "./gc.log"),
        ("a//b/", "a/b"),
        ("/", None),
        ("", None),
    ],
)
def test_a_path_is_told_by_its_last_names(text: str, told: str | None) -> None:
    assert path_told(text, "cwd") == told


@pytest.mark.parametrize(
    ("stack", "events"),
    [
        ("schedule+0x1 io_write+0x2 io_issue_sqe+0x3", 1),
        ("schedule+0x1 io_fsync+0x2 io_issue_sqe+0x3", 1),
        ("schedule+0x1 io_read+0x2 __io_issue_sqe+0x3", 1),
        ("schedule+0x1 io_openat2+0x2 io_issue_sqe+0x3", 1),
        ("schedule+0x1 mutex_lock+0x2", 0),
    ],
)
def test_io_uring_enter_is_listed_where_it_sleeps_in_a_request(
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


@pytest.mark.parametrize(
    ("row", "told"),
    [
        # by path: what the caller's memory says, and no inode
        ({"call": 258, "name": "a/b", "ino": 7}, {"path": "a/b", "ino": None}),
        ({"call": 258, "name": "b", "parent": "cwd"}, {"path": "cwd/b"}),
        ({"call": 258, "name": 519 * "b"}, {"path": None}),  # cut off
        ({"call": 258, "dev": 266338304}, {"dev": "254:0", "path": None}),
        # by a descriptor, an empty path beside it
        (
            {"call": 280, "fd": 3, "name": "b", "parent": "a", "ino": 7},
            {"path": "a/b", "ino": 7},
        ),
        ({"call": 26, "name": "b", "parent": "a", "ino": 7}, {"path": "a/b", "ino": 7}),
        ({"call": 162}, {"path": None, "dev": None, "offset": None}),
        ({"call": 0, "bytes": -4, "offset": -2}, {"bytes": None, "offset": None}),
    ],
)
def test_a_call_s_file_is_what_the_row_knows(
    row: dict[str, Any], told: dict[str, Any]
) -> None:
    rows = Rows("stalled_writes", "0", cast(KernelSymbols, Symbols()), lambda: 0)
    data = {"ev": "write", "kstack": "schedule+0x1"} | CALL | row
    (event,) = rows.events({"type": "value", "data": data})
    assert {name: event[name] for name in told} == told
    assert event["call"] == NAMES[row["call"]]


TASK = 0xFFFF888004B2DE80


@pytest.mark.parametrize(
    ("blocker", "owner", "told"),
    [
        (0, 0, (None, None, None, None)),
        (TASK, TASK + 7, ("mutex", hex(TASK), "owner", 9)),
        (TASK + 1, TASK, ("semaphore", hex(TASK), "last_holder", 9)),
        (TASK + 2, TASK + 2, ("rwsem_read", hex(TASK), "owner", 9)),
        (TASK + 3, TASK + 3, ("rwsem_write", hex(TASK), "reader", 9)),
        (TASK + 3, 1, ("rwsem_write", hex(TASK), None, None)),
        (TASK, 1, ("mutex", hex(TASK), None, None)),
        # a number above int64 may be printed as a negative one
        (TASK - (1 << 64), TASK - (1 << 64), ("mutex", hex(TASK), "owner", 9)),
    ],
)
def test_a_lock_and_its_holder_are_what_its_words_say(
    blocker: int, owner: int, told: tuple[str | int | None, ...]
) -> None:
    rows = Rows("stalled_writes", "0", cast(KernelSymbols, Symbols()), lambda: 0)
    lock = {"blocker": blocker, "owner": owner, "holder_tid": 9, "holder_comm": "c"}
    waker = {"waker_tid": 1, "waker_comm": "w", "waker_ctx": "task", "waker_kstack": ""}
    waker |= {"waker_groups": GROUPS}
    data: dict[str, Any] = {"ev": "block", "t_ns": 1, "dur_ns": 1, "runq_ns": 0}
    data |= {"groups": GROUPS}
    data |= {"tid": 5, "pid": 5, "comm": "c", "kstack": "", "lock": lock}
    (event,) = rows.events({"type": "value", "data": data | {"waker": waker}})
    names = ("lock", "lock_at", "holder", "holder_tid")
    assert tuple(event[name] for name in names) == told
    assert event["holder_comm"] == ("c" if told[3] else None)


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ({"cgroup": 7, "io_cgroup": 3, "io_hierarchy": 0}, (7, None)),
        ({"cgroup": 7, "io_cgroup": 3, "io_hierarchy": 4}, (7, 3)),
        ({"io_cgroup": 3, "io_hierarchy": 0}, (3, None)),
        ({"io_cgroup": 3, "io_hierarchy": 4}, (None, 3)),
        ({"io_cgroup": 0, "io_hierarchy": 0}, (None, None)),
    ],
    ids=["of version 2", "of both", "a bio's", "a bio's of version 1", "none"],
)
def test_a_cgroup_is_of_the_hierarchy_that_has_it(
    groups: dict[str, int], told: tuple[int | None, ...]
) -> None:
    rows = Rows("stalled_writes", "0", cast(KernelSymbols, Symbols()), lambda: 0)
    data = {"ev": "write"} | CALL | {"kstack": "", "call": 1, "groups": groups}
    (event,) = rows.events({"type": "value", "data": data})
    assert (event["cgroup"], event["cgroup_v1"]) == told


def test_a_page_s_waker_has_no_cgroup() -> None:
    rows = Rows("page_locks", "0", cast(KernelSymbols, Symbols()), lambda: 0)
    data: dict[str, Any] = dict.fromkeys(FIELDS["page_lock"], -1)
    data |= {"ev": "page_lock", "t_ns": 1, "ended_ns": 3, "what": 0, "dev": 0}
    data |= {"phase": 0, "waker_phase": 0, "kstack": "a+0x1", "comm": "c"}
    data |= dict.fromkeys(("waker_longest_kstack", "waker_kstack"), "")
    waker = {"waker_tid": 7, "waker_comm": "w", "waker_ctx": "task"}
    data |= {"waker": waker | {"waker_kstack": "b+0x2"}}
    (event,) = rows.events({"type": "value", "data": data})
    assert (event["waker_tid"], event["waker_kstack"]) == (7, ["b+0x2"])


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
