# SPDX-License-Identifier: GPL-2.0-only
"""requests: find the slow I/Os of programs that no task slept for.

A direct request of AIO's or io_uring's is in no call: its submitter goes on. Its bios
are told from submission to completion all the same (docs/events.md, `io`).
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall.classify.owners import owner_name
from writestall.events.contract import Io
from writestall.events.other_sleeps import Calls
from writestall.events.stream import Stream


@dataclass(slots=True)
class Unslept:
    """I/Os as long as a stall, of tasks with one name."""

    comm: str
    count: int = 0
    longest_ns: int = 0


def unslept(stream: Stream) -> list[Unslept]:
    """Return the I/Os that lasted a stall and were in no call, the most first.

    A stall is as long as the tracer's; without its `begin` line nothing is known.
    """
    limit_ns = stream.begin.stall_ns if stream.begin else 0
    calls = Calls(stream)
    found: dict[str, Unslept] = {}
    for _, io in stream.ios:
        if not limit_ns or io.dur_ns < limit_ns or not _is_programs(io):
            continue
        # Its last moments: the call that waits for it ends with it.
        if calls.cover(io.tid, io.end_ns) or calls.cover(io.tid, io.end_ns - 1):
            continue
        of_comm = found.setdefault(io.comm or "?", Unslept(io.comm or "?"))
        of_comm.count += 1
        of_comm.longest_ns = max(of_comm.longest_ns, io.dur_ns)
    return sorted(found.values(), key=lambda row: -row.count)


def _is_programs(io: Io) -> bool:
    """True if neither a kernel worker nor a journal submitted it."""
    comm = io.comm or "?"
    return not io.kstack and owner_name((), comm) == comm
