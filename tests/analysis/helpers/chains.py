# SPDX-License-Identifier: GPL-2.0-only
"""chains: explain streams of a few events, and look into the chains."""

from __future__ import annotations

from pathlib import Path

import build
from build import Events
from writestall.chain.answers import Answer, answer
from writestall.chain.parts import Chain, Part
from writestall.events.run_directory import open_run

MS = build.MS
JBD2 = (253, "jbd2/vdb-8")
IRQ = (0, "swapper/0")


def explained(tmp_path: Path, events: Events) -> Answer:
    """The answer to one stream."""
    return answer(open_run(build.run_dir(tmp_path / "run", events)), None)


def one_chain(tmp_path: Path, events: Events) -> Chain:
    """The chain of a stream with one write; its parts must add up."""
    (chain,) = explained(tmp_path, events).chains
    assert_adds_up(chain)
    return chain


def assert_adds_up(chain: Chain) -> None:
    """Every level sums to the one above, in whole ns."""
    assert sum(part.dur_ns for part in chain.parts) == chain.write.dur_ns

    def down(part: Part) -> None:
        if part.parts:
            assert sum(inner.dur_ns for inner in part.parts) == part.dur_ns
        for inner in part.parts:
            down(inner)

    for part in chain.parts:
        down(part)


def ns_by_path(chain: Chain) -> dict[tuple[str, ...], int]:
    """ns by the path from the write to each root."""
    sums: dict[tuple[str, ...], int] = {}

    def down(part: Part, above: tuple[str, ...]) -> None:
        way = (*above, part.cls)
        if not part.parts:
            sums[way] = sums.get(way, 0) + part.dur_ns
        for inner in part.parts:
            down(inner, way)

    for part in chain.parts:
        down(part, ())
    return sums
