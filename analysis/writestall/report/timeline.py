# SPDX-License-Identifier: GPL-2.0-only
"""timeline: draw one stalled write as lanes of time with arrows between them.

The writer's lane is the first, the disk's the last. A bar is a wait of a task; an arrow
leads from it to the holder's lane. Places are in percent of the write's duration
across, in px down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.chain.merge import unqueued
from writestall.chain.parts import INFERRED, WAIT, Chain, Part, Task
from writestall.classify import classes as c
from writestall.classify import styles
from writestall.common import scales
from writestall.common.units import ms

LANE_PX, BAR_TOP_PX, BAR_PX = 44, 20, 18
# Bars narrower than this share are left out, and so are empty lanes.
LEAST_SHARE = 0.003
MOST_LANES = 12
_ORDER = {c.ROLE_OTHER: 1, c.WRITER: 1, c.WRITEBACK: 2, c.JOURNAL: 3}
_ROLES = {
    c.WRITER: "writer",
    c.WRITEBACK: "flusher",
    c.JOURNAL: "journal",
    c.ROLE_OTHER: "task",
}


# A lane's task by its thread id, or a disk by its name.
Key = int | str


@dataclass(frozen=True, slots=True)
class Bar:
    """A range of a lane's time."""

    x: float
    width: float
    y: int
    kind: str
    label: str
    title: str

    @property
    def marked(self) -> bool:
        """Whether there is a pattern behind its label."""
        return styles.is_marked(self.kind)


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a wait to the holder's lane."""

    x: float
    y1: int
    y2: int
    guessed: bool
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One task, or the disk."""

    y: int
    role: str
    name: str

    @property
    def base(self) -> int:
        """Px from the top to the lower edge of its bars."""
        return self.y + BAR_TOP_PX + BAR_PX


@dataclass(slots=True)
class Timeline:
    """The picture of one write."""

    lanes: list[Lane] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    ticks: list[tuple[float, str]] = field(default_factory=list)
    least: str = ""
    tasks_left_out: int = 0

    @property
    def floor(self) -> int:
        """Px from the top to the axis."""
        return len(self.lanes) * LANE_PX

    @property
    def height(self) -> int:
        """Px of all lanes and the axis below them."""
        return self.floor + 22


@dataclass(frozen=True, slots=True)
class _Stretch:
    part: Part
    start_ns: int
    # Its lane already shows the wait that this is the end of.
    shown: bool


def timeline(answer: Answer, chain: Chain) -> Timeline:
    """Draw the lanes, bars and arrows of one write."""
    write = chain.write
    least_ns = write.dur_ns * LEAST_SHARE
    parts = [unqueued(part) for part in chain.parts]
    shown = [row for row in _stretches(parts) if row.part.dur_ns >= least_ns]
    below = [_below(answer, chain, row.part) for row in shown]
    tasks = _tasks(chain, shown)
    lanes = _lanes(tasks[:MOST_LANES], below)
    picture = Timeline(lanes=list(lanes.values()), least=ms(int(least_ns)))
    picture.tasks_left_out = len(tasks[MOST_LANES:])
    for row, key in zip(shown, below, strict=True):
        _draw(picture, row, chain, lanes, key)
    whole_ms = write.dur_ns / 1e6
    picture.ticks = [
        (scales.share(at, whole_ms), f"{at} ms") for at in scales.ticks(whole_ms, 8)
    ]
    return picture


def _stretches(parts: Iterable[Part], of: Task | None = None) -> Iterator[_Stretch]:
    """Yield every part with a place in time, inner ones included."""
    for part in parts:
        if part.start_ns is not None:
            yield _Stretch(part, part.start_ns, part.task == of)
        yield from _stretches(part.parts, part.task)


def _is_io(part: Part) -> bool:
    return part.kind == WAIT and part.cls == c.DEVICE_IO and not part.parts


def _below(answer: Answer, chain: Chain, part: Part) -> Key | None:
    """The lane of what a wait is for: a task's, a disk's, or None."""
    if _is_io(part):
        return answer.root_of(chain, part).device or "the disk"
    return part.holder.tid if part.holder else None


def _tasks(chain: Chain, shown: list[_Stretch]) -> list[Task]:
    """The tasks that are shown: the writer first, the journal last."""
    tasks = {chain.task.tid: chain.task}
    for row in shown:
        for task in (row.part.task, row.part.holder):
            if task:
                tasks.setdefault(task.tid, task)
    first, *others = tasks.values()
    return [first, *sorted(others, key=lambda task: _ORDER[task.role])]


def _lanes(tasks: list[Task], below: list[Key | None]) -> dict[Key, Lane]:
    """Lanes by thread id or disk; disks are at the bottom."""
    first, *others = tasks
    named: dict[Key, tuple[str, str]] = {first.tid: ("writer", _name(first))}
    named |= {task.tid: (_ROLES[task.role], _name(task)) for task in others}
    named |= {key: ("disk", key) for key in below if isinstance(key, str)}
    return {
        key: Lane(at * LANE_PX, *names) for at, (key, names) in enumerate(named.items())
    }


def _name(task: Task) -> str:
    return f"{task.comm}/{task.tid}"


def _draw(
    picture: Timeline,
    row: _Stretch,
    chain: Chain,
    lanes: dict[Key, Lane],
    below: Key | None,
) -> None:
    """Draw a part's bar, and the arrow to its holder's lane if there is one."""
    part, write = row.part, chain.write
    if part.task.tid not in lanes:
        return
    y = lanes[part.task.tid].y + BAR_TOP_PX
    x = scales.share(max(0, row.start_ns - write.t_ns), write.dur_ns)
    width = scales.share(part.dur_ns, write.dur_ns)
    label = f"{part.cls} {ms(part.dur_ns)}"
    title = " · ".join(filter(None, (label, " > ".join(part.path[-3:]), part.why)))
    if not row.shown:
        picture.bars.append(Bar(x, width, y, part.cls, label, title))
    if below is None or below not in lanes:
        return
    target = lanes[below].y + BAR_TOP_PX
    whom = part.holder.comm if part.holder else str(below)
    if isinstance(below, str):
        picture.bars.append(Bar(x, width, target, part.cls, ms(part.dur_ns), title))
    down = target > y
    picture.arrows.append(
        Arrow(
            x,
            y + (BAR_PX if down else 0),
            target + (0 if down else BAR_PX),
            part.link == INFERRED,
            f"{part.task.comm} waits for {whom} ({part.link})",
        )
    )
