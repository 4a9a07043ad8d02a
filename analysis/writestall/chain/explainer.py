# SPDX-License-Identifier: GPL-2.0-only
"""explainer: turns the numbers of a write's parts into the tree that they stand for."""

from __future__ import annotations

from typing import Any, cast

from writestall.chain import walk
from writestall.chain.columns import (
    COVER,
    LINK_INFERRED,
    NAMES,
    NONE,
    OWNERS,
    P_LAST,
    P_SIZE,
    PART,
    SHORT,
    W_TASK,
    WHY,
    Column,
    Scratch,
)  # fmt: skip
from writestall.chain.ledger import FEW_PARTS, Ledger
from writestall.chain.parts import INFERRED, SEEN, Chain, Part
from writestall.common import machine_code
from writestall.events.contract import Write
from writestall.events.stream import Stream


class Explainer:
    """Answers for one stream of events."""

    def __init__(self, stream: Stream) -> None:
        floor_ns = stream.begin.floor_ns if stream.begin else 1_000_000
        self.ledger = Ledger(stream.blocks, floor_ns, stream.lost_events > 0)
        self._walk = machine_code.code(walk) if self.ledger.fast else walk
        self._scratch: Scratch | None = None

    def chain(self, id: int, write: Write) -> Chain:
        """The chain of one write; `id` is its event's line number."""
        ledger = self.ledger
        record = ledger.writes([(id, write)])
        parts = _Parts(ledger, self._parts(ledger.given(record)))
        task = ledger.tasks.values[record[W_TASK]]
        return Chain(id, write, task, parts.between(0, len(parts.numbers)))

    def _parts(self, record: Column) -> list[int]:
        """The numbers of a write's parts."""
        tables = self.ledger.tables()
        scratch, end = self._scratch, walk.FULL
        if scratch is None or len(scratch.covers) < COVER * self.ledger.threads:
            scratch = self.ledger.scratch(FEW_PARTS)
        while (end := self._walk.follow(tables, scratch, record, 0)) == walk.FULL:
            scratch = self.ledger.scratch(2 * len(scratch.parts) // PART)
        self._scratch = scratch
        made: Any = scratch.parts[:end]
        return cast(list[int], made.tolist())


class _Parts:
    """Numbers of parts, and the parts that they stand for."""

    def __init__(self, ledger: Ledger, numbers: list[int]) -> None:
        self.numbers = numbers
        self._ids, self._paths = ledger.blocks.ids, ledger.paths.values
        self._ledger, self._tasks = ledger, ledger.tasks.values

    def between(self, at: int, end: int) -> tuple[Part, ...]:
        """The parts that stand there, each with those below it."""
        found = []
        while at < end:
            next = at + self.numbers[at + P_SIZE]
            found.append(self._part(at, next))
            at = next
        return tuple(found)

    def _part(self, at: int, end: int) -> Part:
        (
            kind, cls, path, task, holder, start_ns, dur_ns, explained_ns, link, why,
            sleep, also, known, owner, _,
        ) = self.numbers[at : at + P_LAST]  # fmt: skip
        evidence = () if sleep == NONE else (self._ids[sleep],)
        return Part(
            NAMES[kind],
            NAMES[cls],
            dur_ns,
            self._tasks[task],
            None if start_ns == NONE else start_ns,
            INFERRED if link == LINK_INFERRED else SEEN,
            WHY[why] if why < SHORT else self._ledger.why(why),
            self._paths[path],
            None if holder == NONE else self._tasks[holder],
            evidence if also == NONE else (*evidence, self._ids[also]),
            known == 1,
            self.between(at + PART, end) if at + PART < end else (),
            explained_ns,
            owner=OWNERS[owner],
        )
