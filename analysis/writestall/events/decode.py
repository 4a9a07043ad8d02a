# SPDX-License-Identifier: GPL-2.0-only
"""decode: turns a tracer's lines into events that share what is equal in them.

Stacks are most of a line and most of a stream's memory. A block that differs from one
before it in its times alone is of that one's kind: nine tenths of its line (who, where,
who woke it) need not be decoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from writestall.events.blocks import UNKNOWN, Blocks
from writestall.events.contract import Block, Event, Ns, Stack, Write

# What msgspec raises for a line that it cannot make an event of.
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
MOST_KNOWN = 1 << 16
# Both tracers print a block's times first. What follows (who, where, who woke it)
# stands in many lines, and begins with this.
_REST = b',"tid":'
MOST_HEAD_BYTES = 128


class _Times(
    msgspec.Struct, tag_field="ev", tag="block", forbid_unknown_fields=True, gc=False
):
    """What stands before _REST."""

    t_ns: Ns
    dur_ns: Ns
    runq_ns: Ns | None = 0


class _NoTimes(msgspec.Struct):
    """A rest that says the times again is not of a kind: the last word counts."""

    ev: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    t_ns: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    dur_ns: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    runq_ns: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Decoder:
    """One stream's lines to events; `learns` is told of each kind's rest."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self._event = msgspec.json.Decoder(Event).decode
        self._times = msgspec.json.Decoder(list[_Times]).decode
        self._no_times = msgspec.json.Decoder(_NoTimes).decode
        self._stacks: dict[Stack, Stack] = {}
        self._words: dict[str | None, str | None] = {}
        self._known: dict[bytes, int] = {}
        self.learns: Callable[[bytes, int], None] | None = None

    def known(self, lines: Sequence[bytes], number: int) -> Iterable[tuple[int, bytes]]:
        """Takes in the blocks of a known kind; returns the other lines, numbered.

        `number` is that of the first line.
        """
        kind_of = self._known.get
        cuts = [line.find(_REST, 0, MOST_HEAD_BYTES) for line in lines]
        rests = [line[cut:] for line, cut in zip(lines, cuts, strict=True)]
        kinds = [kind_of(rest) for rest in rests]
        every = range(number, number + len(lines))
        rows = zip(lines, cuts, kinds, strict=True)
        heads = [line[:cut] for line, cut, kind in rows if kind is not None]
        try:
            times = self._times(b"[" + b"},".join(heads) + b"}]") if heads else []
        except UNREADABLE:
            times = []
        if len(times) != len(heads):
            # Not each is a whole one: they are read one by one.
            return zip(every, lines, strict=True)
        of = zip(every, kinds, strict=True)
        self._take([row for row in of if row[1] is not None], times)
        rest = zip(every, lines, kinds, strict=True)
        return [(at, line) for at, line, kind in rest if kind is None]

    def _take(
        self, rows: Sequence[tuple[int, int | None]], times: list[_Times]
    ) -> None:
        blocks = self.blocks
        blocks.ids.extend([id for id, _ in rows])
        blocks.kinds.extend([kind for _, kind in rows if kind is not None])
        blocks.t_ns.extend([row.t_ns for row in times])
        blocks.dur_ns.extend([row.dur_ns for row in times])
        runq = [row.runq_ns for row in times]
        blocks.runq_ns.extend([UNKNOWN if ns is None else ns for ns in runq])

    def decode(self, line: bytes, number: int) -> Event | None:
        """One line's event, None for a block, taken in; raises what msgspec raises."""
        event: Event = self._event(line)
        match event:
            case Block():
                self._share(event, self._stacks, "kstack", "waker_kstack")
                kind = self.blocks.add(number, event)
                self._remember(line, kind)
                return None
            case Write():
                self._share(event, self._stacks, "kstack", "ustack")
                self._share(event, self._words, "comm", "call", "dev", "path")
        return event

    def _share(self, event: Block | Write, known: dict[Any, Any], *names: str) -> None:
        for name in names:
            value = getattr(event, name)
            force_setattr(event, name, known.setdefault(value, value))

    def _remember(self, line: bytes, kind: int) -> None:
        """Keeps what follows a block's times, if no times are in it, nor too many."""
        cut = line.find(_REST, 0, MOST_HEAD_BYTES)
        if cut < 0 or len(self._known) >= MOST_KNOWN:
            return
        rest = line[cut:]
        with suppress(*UNREADABLE):
            if self._no_times(b"{" + rest[1:]) == _NoTimes():
                self._known[rest] = kind
                if self.learns:
                    self.learns(rest, kind)
