# SPDX-License-Identifier: GPL-2.0-only
"""requests: find the slow I/Os of programs that no task slept for.

A direct request of AIO's or io_uring's is in no call: its submitter goes on. Its bios
still get events from submission to completion (docs/events.md, `io`).
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall.classify.frames import parse_stack
from writestall.classify.owners import owner_name
from writestall.events.contract import Block, Io
from writestall.events.other_sleeps import Calls
from writestall.events.stream import Stream

# mm/vmscan.c: shrink_node(), shrink_lruvec(), shrink_folio_list() and their like free
# memory; their writes go to swap, and nobody waits for one of them.
_RECLAIMS = "shrink_"


@dataclass(slots=True)
class Unslept:
    """I/Os as long as a stall, of tasks with one name; or of reclaim in such tasks."""

    comm: str
    reclaim: bool
    count: int = 0
    longest_ns: int = 0

    def __str__(self) -> str:
        of = f"memory reclaim in {self.comm} (inferred)" if self.reclaim else self.comm
        return f"{self.count} of {of}"


def unslept(stream: Stream) -> list[Unslept]:
    """Return the I/Os that lasted a stall and were in no call, the most first.

    A stall is as long as the tracer's; without its `begin` line nothing is known.
    """
    if not stream.limit_ns:
        return []
    calls = Calls(stream.writes)
    # No event says why a program submitted an I/O. A write of a task that has slept in
    # reclaim, to a device on which no call's file is, is inferred to be reclaim's.
    reclaiming = {shape.tid for shape in stream.blocks.shapes if _reclaims(shape)}
    devices = {write.dev for _, write in stream.writes}
    found: dict[tuple[str, bool], Unslept] = {}
    for _, io in stream.ios:
        if io.dur_ns < stream.limit_ns or not _is_programs(io):
            continue
        # Its last moments: the call that waits for it ends with it.
        if calls.at(io.tid, io.end_ns) or calls.at(io.tid, io.end_ns - 1):
            continue
        to_swap = io.op == "write" and io.dev not in devices
        key = io.comm or "?", to_swap and io.tid in reclaiming
        of_comm = found.setdefault(key, Unslept(*key))
        of_comm.count += 1
        of_comm.longest_ns = max(of_comm.longest_ns, io.dur_ns)
    return sorted(found.values(), key=lambda row: -row.count)


def _is_programs(io: Io) -> bool:
    """True if neither a kernel worker nor a journal submitted it."""
    comm = io.comm or "?"
    return not io.kstack and owner_name((), comm) == comm


def _reclaims(block: Block) -> bool:
    symbols = (frame.symbol for frame in parse_stack(block.kstack))
    return any(symbol.startswith(_RECLAIMS) for symbol in symbols)
