# SPDX-License-Identifier: GPL-2.0-only
"""decode: decode a tracer's lines to events that share what is equal in them.

Stacks are most of a line and most of a stream's memory. A sleep's stacks are left as
they are in the line until a sleep of a new kind comes.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from writestall.events.blocks import Blocks
from writestall.events.contract import (
    Address,
    Begin,
    Block,
    Cgroup,
    Commit,
    End,
    Event,
    Handles,
    Io,
    Lost,
    Ns,
    Stack,
    Write,
)

# What msgspec raises for a line that it cannot make an event of.
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
MOST_KNOWN = 1 << 16
_NO_STACK = Raw(b"[]")


class _Sleep(Struct, tag_field="ev", tag="block", frozen=True, gc=False):
    """A Block whose stacks are still JSON."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    runq_ns: Ns | None = 0
    pid: int | None = None
    comm: str | None = None
    cgroup: int | None = None
    cgroup_v1: int | None = None
    kstack: Raw = _NO_STACK
    lock: str | None = None
    lock_at: Address | None = None
    holder: str | None = None
    holder_tid: int | None = None
    holder_comm: str | None = None
    waker_tid: int | None = None
    waker_comm: str | None = None
    waker_ctx: str | None = None
    waker_cgroup: int | None = None
    waker_cgroup_v1: int | None = None
    waker_kstack: Raw = _NO_STACK


# One line, the stacks of a sleep not looked at.
Row = _Sleep | Begin | Cgroup | Write | Io | Handles | Commit | Lost | End


class Decoder:
    """Decodes one stream's lines."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self._row = msgspec.json.Decoder(Row).decode
        self._event = msgspec.json.Decoder(Event).decode
        self._stacks: dict[Stack, Stack] = {}
        self._words: dict[str | None, str | None] = {}
        # Kinds of sleeps, by all of a line but its times.
        self._kinds: dict[tuple[object, ...], int] = {}

    def decode(self, line: bytes, number: int) -> Event | None:
        """One line's event, None for a block, taken in; raises what msgspec raises."""
        try:
            row = self._row(line)
        except UNREADABLE:
            # A whole Block may have more to complain of.
            row = self._event(line)
        if isinstance(row, _Sleep):
            key = (
                row.tid, row.pid, row.comm, row.cgroup, row.cgroup_v1,
                bytes(row.kstack), row.lock, row.holder, row.holder_tid,
                row.holder_comm, row.waker_tid, row.waker_comm, row.waker_ctx,
                row.waker_cgroup, row.waker_cgroup_v1, bytes(row.waker_kstack),
            )  # fmt: skip
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._new_kind(line, key)
            times = row.t_ns, row.dur_ns, row.runq_ns
            self.blocks.add(number, kind, *times, row.lock_at)
            return None
        event: Event = row
        if isinstance(event, Write):
            self._share(event, self._stacks, "kstack", "ustack")
            self._share(event, self._words, "comm", "call", "dev", "path")
        if isinstance(event, Io):
            self._share(event, self._stacks, "kstack")
            self._share(event, self._words, "comm", "dev", "op")
        return event

    def _new_kind(self, line: bytes, key: tuple[object, ...]) -> int:
        block = self._event(line)
        assert isinstance(block, Block)
        self._share(block, self._stacks, "kstack", "waker_kstack")
        kind = self.blocks.kind_of(block)
        if len(self._kinds) < MOST_KNOWN:
            self._kinds[key] = kind
        return kind

    def _share(
        self, event: Block | Write | Io, known: dict[Any, Any], *names: str
    ) -> None:
        for name in names:
            value = getattr(event, name)
            force_setattr(event, name, known.setdefault(value, value))
