# SPDX-License-Identifier: GPL-2.0-only
"""decode: turns a tracer's lines into events that share what is equal in them.

Stacks are most of a line and most of a stream's memory. A block that differs from one
before it in its times alone is made from that one: nine tenths of its line (who, where,
who woke it) need not be decoded again.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import force_setattr, replace

from writestall.events import Block, Event, Stack, Write

# How both tracers begin a block: the times come first, and what follows (who, where,
# who woke it) stands in many lines.
_TIMES = re.compile(
    rb'\{"ev":"block","t_ns":N,"dur_ns":N,"runq_ns":N,'.replace(
        b"N", rb"(0|[1-9]\d{0,17})"
    )
)
MOST_KNOWN = 1 << 16


class _Times(msgspec.Struct):
    """What _TIMES has read: a line that says it twice is decoded as a whole."""

    ev: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    t_ns: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    dur_ns: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    runq_ns: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Decoder:
    """One stream's lines to events."""

    def __init__(self) -> None:
        self._event = msgspec.json.Decoder(Event).decode
        self._times = msgspec.json.Decoder(_Times).decode
        self._stacks: dict[Stack, Stack] = {}
        self._blocks: dict[bytes, Block] = {}

    def decode(self, line: bytes) -> Event:
        """One line's event; raises what msgspec raises."""
        times = _TIMES.match(line)
        rest = line[times.end() :] if times else b""
        like = self._blocks.get(rest)
        if times is None or like is None:
            event = self._whole(line)
            if times and isinstance(event, Block) and self._is_new(rest):
                self._blocks[rest] = event
            return event
        t_ns, dur_ns, runq_ns = map(int, times.groups())
        return replace(like, t_ns=t_ns, dur_ns=dur_ns, runq_ns=runq_ns)

    def _whole(self, line: bytes) -> Event:
        event: Event = self._event(line)
        match event:
            case Block():
                self._share(event, "kstack", "waker_kstack")
            case Write():
                self._share(event, "kstack", "ustack")
        return event

    def _share(self, event: Block | Write, *names: str) -> None:
        for name in names:
            stack = getattr(event, name)
            force_setattr(event, name, self._stacks.setdefault(stack, stack))

    def _is_new(self, rest: bytes) -> bool:
        """True for a rest to keep: with no times in it, and not one too many."""
        return len(self._blocks) < MOST_KNOWN and self._times(b"{" + rest) == _Times()
