# SPDX-License-Identifier: GPL-2.0-only
"""timeline: lay out lanes of time, with bars in them and arrows between them.

Places are in percent of a window across, in px down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from writestall.classify import styles
from writestall.common import scales
from writestall.common.windows import Window
from writestall_base.units import MS_NS, ms

# Bars narrower than this share are left out, and so are empty lanes.
LEAST_SHARE = 0.003
# Between two lanes there is room for a name and an arrow's head.
LANE_PX, BAR_TOP_PX, BAR_PX = 50, 25, 18
MOST_TICKS = 8

# A task's lane by its thread id, a disk's by its name, an application's by both.
Key = int | str | tuple[str, int]


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

    def is_within(self, other: Bar) -> bool:
        """Whether another bar of the kind shows it: two calls waited for one thing."""
        alike = (self.y, self.kind) == (other.y, other.kind)
        end, other_end = self.x + self.width, other.x + other.width
        return alike and other.x <= self.x and end <= other_end


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a wait to the lane of what it is for."""

    x: float
    y1: int
    y2: int
    guessed: bool
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One task, one disk, or what an application waited for."""

    y: int
    role: str
    name: str

    @property
    def top(self) -> int:
        """Px from the top to the upper edge of its bars."""
        return self.y + BAR_TOP_PX

    @property
    def base(self) -> int:
        """Px from the top to the lower edge of its bars."""
        return self.top + BAR_PX


@dataclass(slots=True)
class Timeline:
    """A picture of what happened in a window of time."""

    window: Window
    lanes: dict[Key, Lane]
    bars: list[Bar] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    tasks_left_out: int = 0

    @staticmethod
    def of(window: Window, named: Mapping[Key, tuple[str, str]]) -> Timeline:
        """Empty lanes by key, downwards; each has a role and a name."""
        lanes = {
            key: Lane(at * LANE_PX, *names)
            for at, (key, names) in enumerate(named.items())
        }
        return Timeline(window, lanes)

    @property
    def least_ns(self) -> int:
        """The length of the shortest bar that is drawn."""
        return least_ns(self.window)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places on the axis, with their labels."""
        return scales.ticks((self.window[1] - self.window[0]) / MS_NS, MOST_TICKS, "ms")

    @property
    def floor(self) -> int:
        """Px from the top to the axis."""
        return len(self.lanes) * LANE_PX

    @property
    def height(self) -> int:
        """Px of all lanes and the axis below them."""
        return self.floor + 22

    def add_bar(
        self, key: Key, place: Window, kind: str, label: str, title: str
    ) -> None:
        """Draw what of a stretch of time lies in the window, once."""
        if place[1] < self.window[0] or self.window[1] < place[0]:
            return
        bar = Bar(*placed(place, self.window), self.lanes[key].top, kind, label, title)
        if not any(bar.is_within(other) for other in self.bars):
            self.bars.append(bar)

    def add_arrow(
        self, at_ns: int, key: Key, below: Key, title: str, *, guessed: bool
    ) -> None:
        """Draw what the wait in one lane is for: another lane."""
        lane, target = self.lanes[key], self.lanes[below]
        ends = (lane.base, target.top) if target.y > lane.y else (lane.top, target.base)
        x, _ = placed((at_ns, at_ns), self.window)
        self.arrows.append(Arrow(x, *ends, guessed, title))


def placed(stretch: Window, axis: Window) -> tuple[float, float]:
    """Place and width of what of a stretch of time lies on an axis, in percent."""
    first, last = (min(max(at_ns, axis[0]), axis[1]) for at_ns in stretch)
    whole_ns = axis[1] - axis[0]
    x = scales.share(first - axis[0], whole_ns)
    return x, scales.share(last - first, whole_ns)


def least_ns(window: Window) -> int:
    """The length of the shortest bar that is drawn in a window."""
    return int((window[1] - window[0]) * LEAST_SHARE)


def labelled(name: str, ns: int) -> str:
    """The label of a bar."""
    return f"{name} {ms(ns)}"
