# SPDX-License-Identifier: GPL-2.0-only
"""replays: judge how much of a recording came back in its replay, docs/replay.md."""

from __future__ import annotations

from dataclasses import dataclass

from writestall.chain.answers import Answer
from writestall.verdict import episodes, queues, replayed_calls
from writestall.verdict.episodes import Fidelity
from writestall.verdict.replayed_calls import Figure
from writestall_base.errors import UserError

# Of the episodes, that have to come back.
LEAST_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Judged:
    """What came back of the disk and, where there are some, of the calls; how both
    disks were with their queues, in words."""

    disk: Fidelity
    calls: list[Figure]
    queues: list[str]

    @property
    def failed(self) -> bool:
        """Whether it is too little."""
        held = all(figure.holds for figure in self.calls)
        return self.disk.share < LEAST_SHARE or not held

    @property
    def lines(self) -> list[str]:
        """A verdict and its figures, for the disk and for the calls."""
        rows = episodes.lines(self.disk, LEAST_SHARE)
        rows += [f"  {line}" for line in self.queues]
        return rows + (replayed_calls.lines(self.calls) if self.calls else [])


def judge(answer: Answer, second: Answer | None = None) -> Judged | None:
    """The verdict on a run; None where it replays nothing. `second` is the answer of a
    second recording of the same load. Raises UserError for a damaged file, and for a
    second recording where no calls were made again."""
    if second and not replayed_calls.is_replay(answer):
        name = answer.run.path
        raise UserError(f"--again: {name} makes no recorded calls again: leave it out")
    if not episodes.is_replay(answer):
        return None
    found: list[Figure] = []
    if replayed_calls.is_replay(answer):
        found = replayed_calls.figures(answer, second)
    known_ns = replayed_calls.under_way_ns(answer)
    disk = episodes.of_replay(answer, known_ns)
    return Judged(disk, found, queues.lines(answer))
