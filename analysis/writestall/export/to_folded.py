# SPDX-License-Identifier: GPL-2.0-only
"""to_folded: write folded stacks, as flamegraph.pl reads them.

Lines are `comm;call;frames, outermost first;class MICROSECONDS`; equal stacks are
added.
"""

from __future__ import annotations

from writestall.chain.answers import Answer
from writestall.chain.parts import Chain, Part
from writestall.classify.cxx_names import source_name
from writestall.classify.frames import parse_stack
from writestall.events.blocks import Blocks
from writestall_base.units import printable, shares


def folded(answer: Answer) -> str:
    """Format one line per stack, sorted; the weights add up to the stall time in us."""
    blocks = answer.stream.blocks
    sums: dict[str, int] = {}
    for chain in answer.chains:
        for part in chain.parts:
            stack = _stack(chain, part, blocks)
            sums[stack] = sums.get(stack, 0) + part.dur_ns
    # Rounded so that the lines add up; lines of 0 us are left out.
    want_us = round(answer.stall_ns / 1000)
    dealt_us = shares(answer.stall_ns, list(sums.values()), want_us)
    rows = zip(sums, dealt_us, strict=True)
    return "".join(f"{stack} {us}\n" for stack, us in sorted(rows) if us)


def _stack(chain: Chain, part: Part, blocks: Blocks) -> str:
    write = chain.write
    block = blocks.shape(part.evidence[0]) if part.evidence else None
    kstack = block.kstack if block else ()
    user = [_user_frame(frame) for frame in reversed(write.ustack)]
    kernel = [frame.symbol for frame in reversed(parse_stack(kstack))]
    names = [chain.task.comm, *user, write.call or "write", *kernel, part.cls]
    return ";".join(map(_frame, names))


def _user_frame(text: str) -> str:
    """`fflush+0x1a [libc.so]` -> `fflush`; addresses differ from run to run."""
    if text.startswith("0x"):
        return "[unknown]"
    return source_name(text.partition("+0x")[0])


def _frame(name: str) -> str:
    """A frame's name without the format's separators: `;` and line ends."""
    return printable(name).replace(";", ":") or "?"
