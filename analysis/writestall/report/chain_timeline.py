# SPDX-License-Identifier: GPL-2.0-only
"""chain_timeline: draw stalled calls: what each task slept on, and who was to end it.

The caller's lane is the first, the disk's the last. A bar is a wait of a task; an arrow
leads from it to the holder's lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from writestall.chain.answers import Answer
from writestall.chain.cgroups import crosses
from writestall.chain.critical_paths import NO_TID
from writestall.chain.merge import unqueued
from writestall.chain.parts import INFERRED, WAIT, Chain, Part, Task
from writestall.common.windows import Window, window_of
from writestall.report.amounts import amounts
from writestall.report.timeline import Key, Timeline, labelled, least_ns
from writestall_base import wait_classes as c

MOST_LANES = 12
CALLS = "calls of"
_ORDER = {c.ROLE_OTHER: 1, c.WRITER: 1, c.WRITEBACK: 2, c.JOURNAL: 3}
_ROLES = {
    c.WRITER: "writer",
    c.WRITEBACK: "flusher",
    c.JOURNAL: "journal",
    c.ROLE_OTHER: "task",
}
Names = tuple[str, str]


def timeline(answer: Answer, chain: Chain) -> Timeline:
    """Draw one stalled call."""
    return draw(answer, [chain], window_of(chain.write))


def draw(
    answer: Answer,
    chains: Sequence[Chain],
    window: Window,
    above: Mapping[Key, Names] | None = None,
) -> Timeline:
    """Draw stalled calls; below the lanes `above`, each has a bar of its own, too."""
    least = least_ns(window)
    shown = [row for chain in chains for row in _shown(answer, chain, least)]
    tasks = _tasks(chains, shown)
    callers = {
        chain.task.tid: "request" if chain.write.tid == NO_TID else _ROLES[c.WRITER]
        for chain in chains
    }
    named = dict(above or {})
    for task in tasks[:MOST_LANES]:
        if above and task.tid in callers:
            named[CALLS, task.tid] = CALLS, task.thread
            named[task.tid] = "sleeps of", task.thread
        else:
            role = callers.get(task.tid, _ROLES[task.role])
            named[task.tid] = role, task.thread + _place(answer, task, tasks[0])
    for row in shown:
        if isinstance(row.below, str):
            named[row.below] = "limit" if row.part.cap else "disk", row.below
    picture = Timeline.of(window, named)
    picture.tasks_left_out = len(tasks[MOST_LANES:])
    if above:
        _draw_calls(picture, chains)
    for row in shown:
        _draw(picture, row)
    return picture


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A part with a place in time, and the lane of what it is for.

    took    its length as the text has it
    shown   its lane already shows the wait that this is the end of
    """

    part: Part
    start_ns: int
    took: str
    shown: bool
    below: Key | None

    @property
    def window(self) -> Window:
        return self.start_ns, self.start_ns + self.part.dur_ns


def _shown(answer: Answer, chain: Chain, least: int) -> Iterator[_Stretch]:
    """The parts of a chain that are long enough to draw."""
    parts = [unqueued(part) for part in chain.parts]
    took = amounts(parts, chain.write.dur_ns)
    for part, of in _parts(parts):
        if part.kind == c.CALL:
            continue  # its waits are drawn
        if part.start_ns is not None and part.dur_ns >= least:
            below = _below(answer, chain, part)
            yield _Stretch(part, part.start_ns, took[id(part)], part.task == of, below)


def _parts(
    parts: Iterable[Part], of: Task | None = None
) -> Iterator[tuple[Part, Task | None]]:
    """Every part, inner ones included, with the task of the one around it."""
    for part in parts:
        yield part, of
        yield from _parts(part.parts, of if part.kind == c.CALL else part.task)


def _below(answer: Answer, chain: Chain, part: Part) -> Key | None:
    """The lane of what a wait is for: a task's, a disk's, a limit's, or None."""
    if part.cap:
        return str(answer.root_of(chain, part))
    if part.kind == WAIT and part.cls == c.DEVICE_IO and not part.parts:
        return answer.root_of(chain, part).device or "the disk"
    return part.holder.tid if part.holder else None


def _tasks(chains: Sequence[Chain], shown: Sequence[_Stretch]) -> list[Task]:
    """The tasks that are shown: the callers first, the journal last."""
    tasks = {chain.task.tid: chain.task for chain in chains}
    callers = len(tasks)
    for row in shown:
        for task in (row.part.task, row.part.holder):
            if task:
                tasks.setdefault(task.tid, task)
    found = list(tasks.values())
    others = sorted(found[callers:], key=lambda task: _ORDER[task.role])
    return [*found[:callers], *others]


def _place(answer: Answer, task: Task, caller: Task) -> str:
    """The cgroup of a task, where it is not that of the one that called."""
    if not crosses(task.cgroup, caller.cgroup):
        return ""
    return f" in {answer.labels(str(task.cgroup))}"


def _draw_calls(picture: Timeline, chains: Iterable[Chain]) -> None:
    for chain in chains:
        key, write = (CALLS, chain.task.tid), chain.write
        if key in picture.lanes:
            label = labelled(f"{write.name} {write.path or '?'}", write.dur_ns)
            picture.add_bar(key, window_of(write), "call", label, label)


def _draw(picture: Timeline, row: _Stretch) -> None:
    """Draw a part's bar, and the arrow to its holder's lane if there is one."""
    part, key = row.part, row.part.task.tid
    if key not in picture.lanes:
        return
    label = f"{part.cls} {row.took}"
    says = " · ".join(filter(None, (label, " > ".join(part.path[-3:]), part.why)))
    if not row.shown:
        picture.add_bar(key, row.window, part.cls, label, says)
    if row.below is None or row.below not in picture.lanes:
        return
    if isinstance(row.below, str):
        picture.add_bar(row.below, row.window, part.cls, row.took, says)
    whom = part.holder.comm if part.holder else row.below
    title = f"{part.task.comm} waits for {whom} ({part.link})"
    guessed = part.link == INFERRED
    picture.add_arrow(row.start_ns, key, row.below, title, guessed=guessed)
