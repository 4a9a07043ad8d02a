# SPDX-License-Identifier: GPL-2.0-only
"""merge: sum up parts of a chain that say the same; they still add up."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from writestall.chain.parts import INFERRED, WAIT, Part


def merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts with equal meaning summed up, largest first, on this level and below."""
    found = [
        _merge(group) if len(group) > 1 else _merged_below(group[0])
        for group in grouped(parts)
    ]
    if len(found) > 1:
        found.sort(key=_length, reverse=True)
    return tuple(found)


def grouped(parts: Iterable[Part]) -> list[list[Part]]:
    """Parts of one level by their meaning, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[Part]] = {}
    for part in parts:
        holder = part.holder.tid if part.holder else None
        kind, rest = part.kind, bool(part.parts)
        key: tuple[Any, ...]
        if kind == WAIT:
            key = (
                kind, part.cls, part.path, holder, part.explained, rest,
                part.submitter.tid, part.cap,
            )  # fmt: skip
        else:
            key = (kind, part.cls, part.path, holder, part.explained, part.why, None)
        group = groups.get(key)
        if group is None:
            groups[key] = [part]
        else:
            group.append(part)
    return list(groups.values())


_length = attrgetter("dur_ns")


def _merged_below(part: Part) -> Part:
    return replace(part, parts=merged(part.parts)) if part.parts else part


def _merge(group: list[Part]) -> Part:
    first = group[0]
    dur_ns = explained_ns = waits = queue = 0
    link, start_ns = first.link, first.start_ns
    evidence: list[int] = []
    below: list[Part] = []
    for part in group:
        if part.dur_ns > first.dur_ns:
            first = part
        dur_ns += part.dur_ns
        explained_ns += part.explained_ns
        waits += part.waits
        if part.queue > queue:
            queue = part.queue
        if part.link == INFERRED:
            link = INFERRED
        begin_ns = part.start_ns
        if begin_ns is not None and (start_ns is None or begin_ns < start_ns):
            start_ns = begin_ns
        evidence += part.evidence
        below += part.parts
    return Part(
        first.kind, first.cls, dur_ns, first.task, start_ns, link, first.why,
        first.path, first.holder, tuple(dict.fromkeys(evidence)), first.explained,
        merged(below) if below else (), explained_ns, waits, first.owner, queue,
        first.cap, first.lock, first.named,
    )  # fmt: skip


def is_handed_on(part: Part, inner: Part) -> bool:
    """Whether the holder of a lock waited for the same lock in the same function."""
    return (
        inner.cls == part.cls
        and inner.holder is not None
        and part.holder is not None
        and inner.kind == part.kind
        and inner.path == part.path
    )


def unqueued(part: Part) -> Part:
    """A lock handed along a queue as one wait, for the last holder in it.

    The writer waited for the one before it, that one for the next, all in the same
    function: their other activity becomes parts of the one wait, and it still adds up.
    """
    if not part.parts:
        return part
    holder, since_ns = part.holder, part.since_ns
    queue = longest_ns = 0
    parts: list[Part] = []
    for inner in map(unqueued, part.parts):
        if is_handed_on(part, inner):
            parts += inner.parts
            if inner.dur_ns > longest_ns:
                longest_ns, queue = inner.dur_ns, inner.queue + 1
                holder, since_ns = inner.holder, inner.since_ns
        else:
            parts.append(inner)
    return replace(
        part, holder=holder, parts=tuple(parts), queue=queue, since_ns=since_ns
    )
