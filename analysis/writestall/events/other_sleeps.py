# SPDX-License-Identifier: GPL-2.0-only
"""other_sleeps: find the long sleeps of programs that belong to no traced call.

A long sleep in a call that the tracers do not know, or leave out by request, is in no
write's duration; here it is in sum.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from writestall.events.blocks import Blocks
from writestall.events.contract import Block, Write
from writestall.events.stream import Stream

# Where a program enters the kernel (arch/x86/entry/entry_64.S; do_syscall_64() and
# exc_page_fault() are next; arch/arm64/kernel/entry.S: el0); workers of io_uring's
# begin as kernel threads do, and have the name of their program's thread
# (io_uring/io-wq.c, io_wq_worker()). A kernel thread's sleep is no call.
_ENTRIES = ("entry_SYSCALL", "do_syscall_64", "asm_exc_", "exc_page_fault", "el0")
_WORKER = "iou-wrk-"


@dataclass(slots=True)
class OtherSleeps:
    """Sleeps on one stack.

    comms  the names of the tasks, in the order they came
    """

    stack: tuple[str, ...]
    count: int = 0
    dur_ns: int = 0
    longest_ns: int = 0
    comms: list[str] = field(default_factory=list)

    def add(self, block: Block, dur_ns: int) -> None:
        self.count += 1
        self.dur_ns += dur_ns
        self.longest_ns = max(self.longest_ns, dur_ns)
        comm = block.comm or "?"
        if comm not in self.comms:
            self.comms.append(comm)


def other_sleeps(stream: Stream) -> list[OtherSleeps]:
    """Return the sleeps of programs that were stalls of no call, the most time first.

    A stall is as long as the tracer's; without its `begin` line nothing is known.
    """
    if not stream.limit_ns:
        return []
    calls = Calls(stream.writes)
    found: dict[tuple[str, ...], OtherSleeps] = {}
    blocks = stream.blocks
    for place, shape in _long_sleeps(blocks, stream.limit_ns):
        if calls.at(shape.tid, blocks.t_ns[place]):
            continue
        of_stack = found.setdefault(shape.kstack, OtherSleeps(shape.kstack))
        of_stack.add(shape, blocks.dur_ns[place])
    return sorted(found.values(), key=lambda row: -row.dur_ns)


def _long_sleeps(blocks: Blocks, limit_ns: int) -> Iterator[tuple[int, Block]]:
    """Yield the places and kinds of sleeps of programs that reach the limit."""
    shapes = [shape if _is_program(shape) else None for shape in blocks.shapes]
    for place, dur_ns in enumerate(blocks.dur_ns):
        if dur_ns >= limit_ns:
            shape = shapes[blocks.kinds[place]]
            if shape is not None:
                yield place, shape


def _is_program(shape: Block) -> bool:
    if (shape.comm or "").startswith(_WORKER):
        return True
    return any(frame.startswith(_ENTRIES) for frame in shape.kstack)


class Calls:
    """The calls of each task, which do not overlap, with their line numbers."""

    def __init__(self, writes: Iterable[tuple[int, Write]]) -> None:
        """Of calls by time."""
        self._of_task: dict[int, list[tuple[int, Write]]] = {}
        for row in writes:
            self._of_task.setdefault(row[1].tid, []).append(row)

    def at(self, tid: int, t_ns: int) -> tuple[int, Write] | None:
        """The call that a task is in at that time."""
        own = self._of_task.get(tid, [])
        place = bisect_right(own, t_ns, key=lambda row: row[1].t_ns) - 1
        if place < 0 or t_ns >= own[place][1].t_ns + own[place][1].dur_ns:
            return None
        return own[place]
