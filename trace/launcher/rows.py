# SPDX-License-Identifier: GPL-2.0-only
"""rows: map the rows of the bpftrace scripts to the events of docs/events.md."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from launcher.calls import NAMES, by_path, path_told
from launcher.symbols import KernelSymbols, user_addresses, user_stack
from launcher.user_symbols import UserSymbols
from writestall_base import TREE

Row = dict[str, Any]
Event = dict[str, Any]
Field = Callable[[Any, KernelSymbols], Any]

# Where a call must sleep to be one; both go by the rules of stap/tapset/inflight.stp:
# io_uring_enter(2) in a request that it tries itself, and a fault in its handler.
BELOW = {
    "io_uring_enter": ("io_write+", "io_read+", "io_fsync+", "io_issue_sqe+"),
    "page_fault": ("handle_mm_fault+",),
}
MOST_PATH_BYTES = 519  # max_strlen of stalled_writes.bt, less its end
# What page_locks says by numbers: PG_locked, PG_writeback; journals.bt's phases.
BITS = {0: "lock"}
PHASES = (None, "running", "locking", "flushing", "logging", "finishing")
# Bits 0 and 1 of task_struct.blocker (linux/hung_task.h), and what a lock's word says.
LOCKS = ("mutex", "semaphore", "rwsem_read", "rwsem_write")
LOCK_BITS, OWNER_BITS, READER_OWNED = 3, 7, 1
# enum req_op (linux/blk_types.h).
OPERATIONS = {0: "read", 1: "write", 2: "flush", 3: "discard", 9: "zeroes"}
DEFINITIONS = json.loads((TREE / "docs/events.schema.json").read_text())["$defs"]
UNKNOWN = -1  # how a script says that it could not know a number


def _number(value: Any, _: KernelSymbols) -> int:
    return int(value)  # above int64 bpftrace prints a string


class Exact(int):
    """A number that is known even where it looks like UNKNOWN."""


def _known(value: Any, _: KernelSymbols) -> int | None:
    if isinstance(value, Exact):
        return int(value)
    return None if int(value) < 0 else int(value)


def _text(value: Any, _: KernelSymbols) -> str:
    return str(value)


def _text_if_any(value: Any, _: KernelSymbols) -> str | None:
    return str(value) or None


def _id_if_any(value: Any, _: KernelSymbols) -> int | None:
    return int(value) or None


def _operation(value: Any, _: KernelSymbols) -> str:
    return OPERATIONS.get(int(value), "other")


def _kernel(value: Any, symbols: KernelSymbols) -> list[str]:
    return symbols.kernel_stack(value)


def _user(value: Any, _: KernelSymbols) -> list[str]:
    return user_stack(value)


def _bit(value: Any, _: KernelSymbols) -> str:
    return BITS.get(int(value), "writeback")


def _phase(value: Any, _: KernelSymbols) -> str | None:
    return PHASES[int(value)]


def _call(value: Any, _: KernelSymbols) -> str:
    return NAMES[int(value)]


def _device(value: Any, _: KernelSymbols) -> str | None:
    # dev_t inside the kernel: 12 bits major, 20 bits minor (linux/kdev_t.h)
    return f"{int(value) >> 20}:{int(value) & 0xFFFFF}" if value else None


# How to read a value of a definition of the contract, or else of its type.
READERS: dict[str, Field] = {
    "call_name": _call,
    "cgroup_or_null": _id_if_any,
    "context": _text,
    "device_or_null": _device,
    "kernel_stack": _kernel,
    "operation": _operation,
    "page_bit": _bit,
    "phase_or_null": _phase,
    "user_stack": _user,
    "integer": _number,
    "integer null": _known,
    "string": _text,
    "string null": _text_if_any,
}


def _fields(event: str) -> dict[str, Field]:
    """Return how to read each field behind `ev`, in the contract's order."""
    found = {}
    for name, form in DEFINITIONS[event]["properties"].items():
        if name != "ev":
            definition = form.get("$ref", "").rpartition("/")[2]
            types = DEFINITIONS.get(definition, form)["type"]
            kind = types if isinstance(types, str) else " ".join(types)
            found[name] = READERS.get(definition) or READERS[kind]
    return found


EVENTS = ("block", "write", "io", "handles", "commit", "page_lock")
FIELDS = {event: _fields(event) for event in EVENTS}


def _complete_write(row: Row) -> Row:
    derived: Row = {"dur_ns": int(row["end_ns"]) - int(row["t_ns"])}
    if "exact_ret" in row:  # seen on return: a negative errno too
        derived["ret"] = Exact(row["exact_ret"])
    if by_path(NAMES[int(row["call"])]) and int(row["fd"]) == UNKNOWN:
        return derived | {"ino": UNKNOWN, "path": _path_told(row)}
    if row["name"]:
        return derived | {"path": f"{row['parent']}/{row['name']}"}
    # no file behind the descriptor
    return derived | {"path": "", "ino": UNKNOWN, "offset": UNKNOWN}


def _complete_block(row: Row) -> Row:
    blocker, owner = (int(row[x]) & (1 << 64) - 1 for x in ("blocker", "owner"))
    kind, at = blocker & LOCK_BITS, blocker & ~LOCK_BITS
    told: Row = {"lock": LOCKS[kind] if at else "", "lock_at": hex(at) if at else ""}
    if not at or not owner & ~OWNER_BITS:
        return told | {"holder": "", "holder_tid": UNKNOWN, "holder_comm": ""}
    return told | {"holder": _holder(kind, owner)}


def _holder(kind: int, owner: int) -> str:
    """What a lock's word says of the task that it names."""
    if LOCKS[kind] == "semaphore":
        return "last_holder"
    reads = LOCKS[kind] != "mutex" and owner & READER_OWNED
    return "reader" if reads else "owner"


def _complete_io(row: Row) -> Row:
    return {
        "dur_ns": int(row["ended_ns"]) - int(row["t_ns"]),
        "throttled_ns": int(row["issued_ns"]) - int(row["queued_ns"]),
    }


def _path_told(row: Row) -> str:
    """Folder and name of a call without a descriptor; empty where it was cut off."""
    text = row["name"]
    if len(text.encode(errors="surrogateescape")) >= MOST_PATH_BYTES:
        return ""
    return path_told(text, row["parent"]) or ""


def _complete_commit(row: Row) -> Row:
    times = [row[t] for t in ("t_ns", "flushing", "logging", "logged", "ended_ns")]
    phases = ("locking_ns", "flushing_ns", "logging_ns", "finishing_ns")
    derived = {
        name: end - begin
        for name, begin, end in zip(phases, times, times[1:], strict=False)
    }
    return derived | {"dur_ns": times[-1] - times[0]}


def _complete_page_lock(row: Row) -> Row:
    derived: Row = {"dur_ns": int(row["ended_ns"]) - int(row["t_ns"])}
    if row["waker_ctx"] != "task":  # what an interrupt's victim slept on is nothing
        names = ("waker_sleeps", "waker_slept_ns", "waker_longest_ns")
        derived |= dict.fromkeys(names, UNKNOWN)
    return derived


# The fields that follow from others.
DERIVED: dict[str, Callable[[Row], Row]] = {
    "block": _complete_block,
    "write": _complete_write,
    "io": _complete_io,
    "commit": _complete_commit,
    "page_lock": _complete_page_lock,
}


def _groups(row: Row, prefix: str) -> Row:
    """The ids of a task's or a bio's cgroups, 0 for none; of bpf/lib/cgroups.bt."""
    is_v1 = int(row["io_hierarchy"]) != 0
    v2 = row.get("cgroup", 0 if is_v1 else row["io_cgroup"])
    return {
        f"{prefix}cgroup": v2,
        f"{prefix}cgroup_v1": row["io_cgroup"] if is_v1 else 0,
    }


def _flat(row: Row) -> Row:
    """The fields of a row and of the rows in it, whose names are all different."""
    flat: Row = {}
    for name, value in row.items():
        if name.endswith("groups"):
            flat |= _groups(value, name.removesuffix("groups"))
        elif isinstance(value, dict):
            flat |= _flat(value)
        else:
            flat[name] = value
    return flat


def _complete(row: Row) -> Row:
    """A flat row, with the fields that follow from others."""
    flat = _flat(row)
    derive = DERIVED.get(row["ev"])
    return flat | derive(flat) if derive else flat


def _is_meant(event: Event) -> bool:
    """False for a call that did not fall asleep where it must, by BELOW."""
    below = BELOW.get(event.get("call", ""))
    return below is None or any(frame.startswith(below) for frame in event["kstack"])


class Rows:
    """One run's rows, in the order bpftrace printed them."""

    def __init__(
        self,
        script: str,
        engine_version: str,
        symbols: KernelSymbols,
        clock: Callable[[], int],
        users: UserSymbols | None = None,
    ) -> None:
        self._script = script
        self._engine_version = engine_version
        self.symbols = symbols
        self._clock = clock
        self._users = users
        self._armed_ns: int | None = None
        self._limits: Row | None = None
        self._printed = 0
        self._left_out = 0
        self._lost = 0
        self._unstored = 0
        self.begun = False
        self.ended = False

    def events(self, row: Row) -> Iterator[Event]:
        """The events that one row of `bpftrace -f json` makes."""
        if self.ended:  # it came after the script was told to stop
            return
        if row["type"] == "attached_probes":
            self._armed_ns = self._clock()
            yield from self._begin()
        elif row["type"] == "lost_events":
            yield self._lose(int(row["data"]["events"]), "the reader was too slow")
        elif row["type"] == "helper_error":  # a map or the stack store is full
            self._unstored += 1
        elif row["type"] == "value":
            yield from self._report_unstored()
            yield from self._value(row["data"])

    def _report_unstored(self) -> Iterator[Event]:
        if self._unstored:
            yield self._lose(self._unstored, "more sleeping tasks than map entries")
            self._unstored = 0

    def _value(self, data: Row) -> Iterator[Event]:
        if data["ev"] == "limits":
            self._limits = data
            yield from self._begin()
        elif data["ev"] == "end":
            yield from self._end(int(data["events"]))
        else:
            flat = _complete(data)
            fields = FIELDS[data["ev"]].items()
            event = {"ev": data["ev"]} | {
                name: read(flat[name], self.symbols) for name, read in fields
            }
            if _is_meant(event):
                self._printed += 1
                self._name_users(event, flat)
                yield event
            else:
                self._left_out += 1

    def _name_users(self, event: Event, flat: Row) -> None:
        """Name the frames of a user stack; bpftrace's own names serve where none is."""
        if self._users and event.get("ustack"):
            addresses = user_addresses(flat["ustack"])
            names = self._users.stack(event["pid"], addresses)
            both = zip(names, event["ustack"], strict=True)
            event["ustack"] = [name or frame for name, frame in both]

    def _begin(self) -> Iterator[Event]:
        if self._armed_ns is None or self._limits is None:
            return
        self.begun = True
        yield {
            "ev": "begin",
            "t_ns": self._armed_ns,
            "engine": "bpftrace",
            "engine_version": self._engine_version,
            "script": self._script,
            "kernel": os.uname().release,
            "floor_ns": int(self._limits["floor_ns"]),
            "stall_ns": int(self._limits["stall_ns"]),
        }

    def _lose(self, count: int, why: str) -> Event:
        self._lost += count
        self._printed += 1
        return {
            "ev": "lost",
            "t_ns": self._clock(),
            "count": count,
            "what": "events",
            "why": why,
        }

    def _end(self, made: int) -> Iterator[Event]:
        if not self.begun:
            return
        missing = made - self._printed - self._left_out - self._lost
        if missing > 0:
            yield self._lose(missing, "made but never printed")
        self.ended = True
        yield {
            "ev": "end",
            "t_ns": self._clock(),
            "events": self._printed,
            "lost": self._lost,
        }
