# SPDX-License-Identifier: GPL-2.0-only
"""decode: decode a tracer's lines to events that share what is equal in them.

Stacks are most of a line and most of a stream's memory. A sleep's stacks are left as
they are in the line until a sleep of a new kind comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import attrgetter, or_
from typing import Any, get_args

import msgspec
from msgspec import Raw
from msgspec.structs import fields, force_setattr

from writestall.events.blocks import VARYING, Blocks
from writestall.events.contract import Block, Event, Io, Ios, Stack, Write

# What msgspec raises for a line that it cannot make an event of.
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
MOST_KNOWN = 1 << 16

# A Block whose stacks are still JSON.
_STACKS = ("kstack", "ustack", "waker_kstack")
_Sleep: Any = msgspec.defstruct(
    "_Sleep",
    [
        (field.name, Raw, Raw(b"[]"))
        if field.name in _STACKS
        else (field.name, field.type, field.default)
        for field in fields(Block)
    ],
    tag_field="ev",
    tag="block",
    frozen=True,
    gc=False,
)
_stacks = attrgetter(*_STACKS)
# Stacks and words that many events of a type have in common.
_SHARED: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Write: (("kstack", "ustack"), ("comm", "call", "dev", "path")),
    Io: (("flags", "kstack"), ("comm", "dev", "op")),
    Ios: (("flags",), ("dev", "op")),
}
_others = attrgetter(
    *(f.name for f in fields(Block) if f.name not in (*VARYING, *_STACKS))
)


def row_decoder() -> Callable[[bytes], Event]:
    """A decoder of lines that leaves the stacks of a sleep as they are in the line."""
    others = [event for event in get_args(Event) if event is not Block]
    decode: Callable[[bytes], Event] = msgspec.json.Decoder(
        reduce(or_, others, _Sleep)
    ).decode
    return decode


class Decoder:
    """Decodes one stream's lines."""

    def __init__(self) -> None:
        self.blocks, self.waits = Blocks(), Blocks()
        self._row = row_decoder()
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
            sleeps = self.blocks if row.state == "D" else self.waits
            key = _others(row), tuple(map(bytes, _stacks(row)))
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._new_kind(line, key, sleeps)
            sleeps.add(number, kind, row.t_ns, row.dur_ns, row.runq_ns, row.lock_at)
            return None
        stacks, words = _SHARED.get(type(row), ((), ()))
        self._share(row, self._stacks, *stacks)
        self._share(row, self._words, *words)
        return row

    def _new_kind(self, line: bytes, key: tuple[object, ...], sleeps: Blocks) -> int:
        block = self._event(line)
        assert isinstance(block, Block)
        self._share(block, self._stacks, *_STACKS)
        kind = sleeps.kind_of(block)
        if len(self._kinds) < MOST_KNOWN:
            self._kinds[key] = kind
        return kind

    def _share(self, event: Event, known: dict[Any, Any], *names: str) -> None:
        for name in names:
            value = getattr(event, name)
            force_setattr(event, name, known.setdefault(value, value))
