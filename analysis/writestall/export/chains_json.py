# SPDX-License-Identifier: GPL-2.0-only
"""chains_json: write an answer as `chains.json` (docs/run-directory.md).

The file of a long run is as large as its events, so it is written chain by chain.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from writestall import __version__
from writestall.chain.answers import TOTALS, Answer
from writestall.chain.collect import Question, Source
from writestall.chain.merge import merged
from writestall.chain.parts import Cap, Chain, Part, Task
from writestall.export.tables import fields
from writestall_base.folders import Drafts

# A longer run's file has only the chains of the slowest writes: with all of them it
# would be half as large as the events. `explain --write` and `export` have all chains.
MOST_CHAINS = 100_000


class _Part(Struct, gc=False):
    """A part; only a root, which has no `parts`, has `explained`, and `owner` where an
    I/O is another's than the task's, and `cap` where a limit kept it back. A wait for a
    known lock has `lock`, `named` where it named its owner, and `held_since_ns` where
    events show when the holder had it.
    """

    kind: str
    cls: str = field(name="class")
    dur_ns: int
    t_ns: int | None
    task: Task
    waits: int
    path: tuple[str, ...]
    holder: Task | None
    link: str
    why: str
    evidence: tuple[int, ...]
    owner: Task | UnsetType
    cap: Cap | UnsetType
    lock: str | UnsetType
    named: Task | UnsetType
    held_since_ns: int | UnsetType
    parts: list[_Part] | UnsetType
    explained: bool | UnsetType


def chains_json(
    answer: Answer, chains: Iterable[Chain], left_out: int = 0
) -> dict[str, Any]:
    """The JSON of these chains. Event ids are line numbers of the engine's file."""
    lack = {"left_out": left_out} if left_out else {}
    return {
        "format": 1,
        "writestall": __version__,
        "engine": answer.engine,
        "events": f"events/{answer.stream.file}",
        "lost_events": answer.stream.lost_events,
        "notes": answer.notes,
        **lack,
        "chains": [_chain(answer, chain) for chain in chains],
    }


NAME = "chains.json"


def keep_chains(answer: Answer, questions: Iterable[Question[Any]] = ()) -> None:
    """Writes the slowest into the run, a line each, while the questions are asked of
    all."""
    left_out = max(len(answer.writes) - MOST_CHAINS, 0)
    head = msgspec.json.encode(chains_json(answer, (), left_out)).removesuffix(b"]}")
    pid = os.getpid()

    def fill(drafts: Drafts) -> list[str]:
        def pieces() -> _Pieces:
            return _Pieces(answer, drafts, head if os.getpid() == pid else b"")

        found = answer.collect(TOTALS, *questions, keep=pieces, most=MOST_CHAINS)
        assert found is not None
        last, file = drafts.new()
        with file:
            file.write(b"\n]}\n")
        return [*found.names, last]

    answer.run.save_joined(NAME, fill)


class _Pieces:
    """Drafts whose concatenation has the chains in order, by their names."""

    def __init__(self, answer: Answer, drafts: Drafts, head: bytes) -> None:
        name, file = drafts.new()
        self.names = [name]
        self._open: tuple[Answer, IO[bytes]] | None = (answer, file)
        self._open[1].write(head)
        self._between = b"\n" if head else b",\n"

    def add(self, chain: Chain, _: Source) -> None:
        """Writes a chain."""
        assert self._open is not None
        answer, file = self._open
        file.write(self._between + msgspec.json.encode(_chain(answer, chain)))
        self._between = b",\n"

    def close(self) -> None:
        """Closes its own file."""
        assert self._open is not None
        self._open[1].close()
        self._open = None

    def join(self, other: _Pieces) -> None:
        """The other's files follow."""
        self.names += other.names


def _chain(answer: Answer, chain: Chain) -> dict[str, Any]:
    write = chain.write
    roots = answer.roots([chain])
    return {
        "event": chain.id,
        **fields(write, "t_ns dur_ns"),
        "task": chain.task,
        **fields(write, "call path dev ino offset bytes"),
        "explained_ns": chain.explained_ns,
        "root": str(next(iter(roots), "")),
        "ns_by_root": {str(root): ns for root, ns in roots.items()},
        "parts": [_part(part) for part in merged(chain.parts)],
    }


def _part(part: Part) -> _Part:
    inner = [_part(part) for part in part.parts]
    return _Part(
        part.kind,
        part.cls,
        part.dur_ns,
        part.start_ns,
        part.task,
        part.waits,
        part.path,
        part.holder,
        part.link,
        part.why,
        part.evidence,
        part.owner or UNSET,
        part.cap or UNSET,
        part.lock or UNSET,
        part.named or UNSET,
        UNSET if part.since_ns is None else part.since_ns,
        inner or UNSET,
        UNSET if inner else part.explained,
    )
