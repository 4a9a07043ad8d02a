# SPDX-License-Identifier: GPL-2.0-only
"""This test will read lines that differ only in their times with the same result as one
by one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_events import BEGIN, LINES
from writestall.events.contract import Block, Event
from writestall.events.stream import read_stream


@settings(max_examples=300)
@given(st.lists(LINES, max_size=40))
def test_a_line_is_read_as_if_alone(lines: list[str]) -> None:
    """The same blocks with the same ids, and the same messages, as line by line."""
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
    reported = {(p.line, p.text) for p in stream.problems if p.line not in twice}
    assert reported == broken
