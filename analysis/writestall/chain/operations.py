# SPDX-License-Identifier: GPL-2.0-only
"""operations: find what the I/O behind a root did, by its `io` events."""

from __future__ import annotations

from collections.abc import Mapping

from writestall.chain.parts import Chain
from writestall.chain.roots import Root, Roots
from writestall.events.contract import Io
from writestall_base import wait_classes as c
from writestall_base.units import percent

# Operations, as several of them are called.
_WORDS = {
    "read": "reads",
    "write": "writes",
    "fua": "FUA writes",
    "meta_read": "metadata reads",
    "meta_write": "metadata writes",
    "flush": "flushes",
    "discard": "discards",
    "zeroes": "writes of zeroes",
    "other": "other I/O",
}
# A root is one operation's if that took as much of it; lesser ones are left out.
MOST_OF_IT, LEAST_SHARE = 0.9, 0.1
Sums = dict[Root, dict[str, int]]


def operation(io: Io) -> str | None:
    """What an I/O did: `fua` of a write that must be on the medium, as the last one of
    a journal's commit must, `meta_read` and `meta_write` of metadata, else its `op`.
    """
    if io.op == "write" and "fua" in io.flags:
        return "fua"
    is_meta = io.op in ("read", "write") and "meta" in io.flags
    return f"meta_{io.op}" if is_meta else io.op


def add_operations(
    sums: Sums, chain: Chain, roots: Roots, of_event: Mapping[int, str]
) -> None:
    """Add a chain's time of devices in ns by root and operation; `of_event` has the
    operations by the line numbers of their events."""
    for leaf in chain.leaves() if of_event else ():
        if leaf.cls != c.DEVICE_IO:
            continue
        op = next((of_event[id] for id in leaf.evidence if id in of_event), None)
        if op:
            of_root = sums.setdefault(roots.leaf(chain, leaf), {})
            of_root[op] = of_root.get(op, 0) + leaf.dur_ns


def words(sums: Mapping[str, int], whole_ns: int) -> str:
    """`flushes`, or `60.0 % writes, 40.0 % flushes`; nothing without events."""
    rows = sorted(sums.items(), key=lambda row: -row[1])
    if rows and rows[0][1] >= MOST_OF_IT * whole_ns:
        return _WORDS[rows[0][0]]
    return ", ".join(
        f"{percent(ns, whole_ns)} {_WORDS[op]}"
        for op, ns in rows
        if ns >= LEAST_SHARE * whole_ns
    )
