# SPDX-License-Identifier: GPL-2.0-only
"""drawn_events: hypothesis strategies for events, and for lines of an event file."""

from __future__ import annotations

from hypothesis import strategies as st

from made_stacks import STACKS
from writestall.events.blocks import Blocks
from writestall.events.contract import Begin, Block, Lost, Write
from writestall.events.stream import Stream

BEGIN = '{"ev":"begin","t_ns":1,"engine":"stap"}'
# Times; numbers as JSON does not have them, and beyond what a time may be.
TIMES = st.tuples(*[st.integers(0, 10**6).map(str)] * 3)
ODD = ["0", "007", "-1", "1.0", "1e3", "null", "", '"5"', str(10**18), str(2**63)]
NUMBERS = st.one_of(TIMES, TIMES, st.tuples(*[st.sampled_from(ODD)] * 3))
# What follows the times: again the times, another kind, or what is no event at all.
RESTS = st.sampled_from(
    [
        '"tid":7}',
        '"tid":7,"comm":"a","kstack":["f+0x1","g+0x2"],"waker_kstack":["h"]}',
        '"tid":7,"comm":"b\\u0000","kstack":["f+0x1","g+0x2"]} ',
        '"tid":7,"t_ns":5}',
        '"tid":7,"dur\\u005fns":5}',
        '"tid":7,"runq_ns":null}',
        '"tid":7,"ev":"write"}',
        '"tid":7,"ev":"block"}',
        '"tid":7,"kstack":[5]}',
        '"tid":7,"waker_kstack":null}',
        '"tid":"7"}',
        '"tid":7}}',
        '"tid":7',
        "}",
        "",
    ]
)
LINES = st.tuples(NUMBERS, RESTS).map(
    lambda line: '{{"ev":"block","t_ns":{},"dur_ns":{},"runq_ns":{},{}'.format(
        *line[0], line[1]
    )
)
stacks = st.sampled_from([tuple(stack) for stack in STACKS.values()] + [()])
tids = st.integers(1, 5)
times = st.integers(0, 10_000_000)
blocks = st.builds(
    Block,
    t_ns=times,
    dur_ns=times,
    tid=tids,
    runq_ns=st.one_of(st.none(), st.integers(0, 1_000_000)),
    comm=st.sampled_from(["latwriter", "jbd2/vdb-8", None]),
    kstack=stacks,
    waker_tid=st.one_of(st.none(), tids, st.just(0)),
    waker_comm=st.sampled_from(["latwriter", "jbd2/vdb-8", None]),
    waker_ctx=st.sampled_from(["task", "softirq", "hardirq", "nmi", None, "martian"]),
    waker_kstack=stacks,
)
writes = st.builds(
    Write,
    t_ns=times,
    dur_ns=times,
    tid=tids,
    sleeps=st.one_of(st.none(), st.integers(0, 20)),
    slept_ns=st.one_of(st.none(), times),
    kstack=stacks,
)


def stream_of(
    found: list[Block], calls: list[Write], floor_ns: int, lost: int
) -> Stream:
    """A stream as parse would make it."""
    sleeps = Blocks(enumerate(found, 1))
    sleeps.sort()
    return Stream(
        "stap.jsonl",
        Begin(0, "stap", floor_ns=floor_ns),
        blocks=sleeps,
        writes=list(enumerate(calls, 1000)),
        lost=[Lost(lost)] if lost else [],
    )
