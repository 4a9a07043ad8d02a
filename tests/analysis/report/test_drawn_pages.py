# SPDX-License-Identifier: GPL-2.0-only
"""This test will render pages of random events, which no kernel would print."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import build
import webpage
from drawn_events import blocks, stream_of, writes
from hostile import held_to_our_own
from writestall.chain.answers import Answer
from writestall.events.contract import Block, Write
from writestall.events.run_directory import RunDir
from writestall.report.chain_timeline import timeline
from writestall.report.flame_graph import ROW_PX, Flame, flame
from writestall.report.page import page

# Positions are rounded to a thousandth of a percent.
NEAR = 0.01


def answer_to(found: list[Block], calls: list[Write], lost: int) -> Answer:
    """The answer to a stream of these events."""
    stream = stream_of(found, calls, 1000, lost)
    return Answer(RunDir(Path("nowhere")), "stap", stream, stream.writes)


def assert_nested(graph: Flame) -> None:
    """Every box lies within one of the row above, and overlaps no neighbour."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for box in graph.frames:
        rows.setdefault(box.y // ROW_PX, []).append((box.x, box.x + box.width))
    for depth, places in rows.items():
        for left, right in places:
            assert -NEAR <= left <= right <= 100 + NEAR
            above = rows.get(depth - 1, [(0, 100)])
            assert any(a - NEAR <= left and right <= b + NEAR for a, b in above)
        for (_, end), (start, _) in pairwise(places):
            assert end <= start + NEAR


@settings(max_examples=150)
@given(
    st.lists(blocks, max_size=30),
    st.lists(writes, min_size=1, max_size=3),
    st.integers(0, 2),
)
def test_pictures_hold_together(
    found: list[Block], calls: list[Write], lost: int
) -> None:
    """For overlapping, circular and ownerless events, bars and boxes stay in their
    frames."""
    answer = answer_to(found, calls, lost)
    graph = flame(answer)
    assert graph.total_ns == answer.stall_ns
    assert_nested(graph)
    for chain in answer.chains:
        for bar in timeline(answer, chain).bars:
            assert bar.x >= 0 and bar.x + bar.width <= 100 + NEAR


@settings(max_examples=25)
@given(st.lists(blocks, max_size=30), st.lists(writes, min_size=1, max_size=3))
def test_pages_hold_together(found: list[Block], calls: list[Write]) -> None:
    """Their elements nest and are ours."""
    held_to_our_own(webpage.parsed(page(answer_to(found, calls, 0))))


def test_a_chain_of_sixty_tasks(tmp_path: Path) -> None:
    """Deeper than the page draws, which the page says."""
    events = build.Events()
    for at in range(60):
        holder = (301 + at, f"task{at}")
        stack = ("inode_lock", "journal_buffer", "page_lock")[at % 3]
        events.block(300 + at, at / 10, 1000 - at / 5, stack, holder, "rwsem_up")
    events.write(300, 0, 1000, 1000)
    shown = webpage.read(build.run_dir(tmp_path / "run", events.end()))
    (picture,) = shown.all("svg", class_="timeline")
    assert len(list(picture.all("text", class_="lane"))) == 12
    assert "more tasks are not drawn" in shown.one("details").words
