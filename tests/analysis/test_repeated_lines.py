# SPDX-License-Identifier: GPL-2.0-only
"""This test will read lines that differ in their times alone: each as if alone."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from writestall.events.contract import Block, Event
from writestall.events.stream import read_stream

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


@settings(max_examples=300)
@given(st.lists(LINES, max_size=40))
def test_a_line_is_read_as_if_alone(lines: list[str]) -> None:
    """The same blocks with the same ids, and the same complaints, as line by line."""
    decode = msgspec.json.Decoder(Event).decode
    blocks, broken = [], set()
    for number, line in enumerate(lines, 2):
        try:
            event = decode(line)
        except msgspec.MsgspecError as error:
            broken.add((number, str(error)))
            continue
        if isinstance(event, Block):
            blocks.append((number, event))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stap.jsonl"
        path.write_text("\n".join([BEGIN, *lines]) + "\n")
        stream = read_stream(path)
    kept = dict(stream.blocks)
    twice = {p.line for p in stream.problems if "same task and start" in p.text}
    assert kept == {id: block for id, block in blocks if id not in twice}
    told = {(p.line, p.text) for p in stream.problems if p.line not in twice}
    assert told == broken
