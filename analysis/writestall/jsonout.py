# SPDX-License-Identifier: GPL-2.0-only
"""jsonout: turns an answer into `chains.json` (docs/run-directory.md).

The file of a long run is larger than its events: it is made chain by chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from writestall import __version__
from writestall.merge import merged
from writestall.model import Answer
from writestall.parts import Chain, Part, Task
from writestall.rundir import json_bytes


class _Part(Struct, gc=False):
    """A part: one with `parts` is no root, and a root says whether it is explained."""

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
    parts: list[_Part] | UnsetType
    explained: bool | UnsetType


def chains_json(answer: Answer, chains: Iterable[Chain]) -> dict[str, Any]:
    """Some of the chains. Event ids are line numbers of the engine's file."""
    return {
        "format": 1,
        "writestall": __version__,
        "engine": answer.engine,
        "events": f"events/{answer.stream.file}",
        "lost_events": answer.stream.lost_events,
        "notes": answer.notes,
        "chains": [_chain(answer, chain) for chain in chains],
    }


def chains_file(answer: Answer, chains: list[Chain]) -> Iterator[bytes]:
    """The same as the bytes of a file, piece by piece."""
    around = json_bytes(chains_json(answer, ())).rstrip(b"]}\n")
    yield around
    between = b"\n"
    for chain in chains:
        yield between + json_bytes([[_chain(answer, chain)]])[len(_OPEN) : -len(_CLOSE)]
        between = b",\n"
    yield b"\n  ]\n}\n" if chains else b"]\n}\n"


# Around one chain that stands as deep as in the file.
_OPEN, _CLOSE = b"[\n  [\n", b"\n  ]\n]\n"


def _chain(answer: Answer, chain: Chain) -> dict[str, Any]:
    write = chain.write
    roots = answer.roots([chain])
    return {
        "event": chain.id,
        "t_ns": write.t_ns,
        "dur_ns": write.dur_ns,
        "task": chain.task,
        "call": write.call,
        "path": write.path,
        "dev": write.dev,
        "ino": write.ino,
        "offset": write.offset,
        "bytes": write.bytes,
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
        inner or UNSET,
        UNSET if inner else part.explained,
    )
