# SPDX-License-Identifier: GPL-2.0-only
"""flame_graph: draw an off-CPU flame graph of the stalled writes.

Below the writer's name is the write's stack, below the function it slept in the class
of the wait, and below that the stack of the holder during that wait. Widths are stall
time and add up to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from writestall.chain import tally
from writestall.chain.answers import Answer
from writestall.chain.columns import NAMES
from writestall.chain.sums import Sums
from writestall.classify import styles
from writestall.common import scales
from writestall.common.units import ms, percent

# Narrower than this share of the whole is less than a pixel: such boxes are left out,
# and the page says how much time they have.
LEAST_SHARE = 0.001
MOST_DEPTH = 96
ROW_PX = 18


@dataclass(slots=True)
class _Node:
    """A frame and the frames on it; `kind` is the class if it is a wait."""

    name: str
    kind: str = ""
    ns: int = 0
    inner: dict[tuple[str, str], _Node] = field(default_factory=dict)

    def child(self, name: str, kind: str = "") -> _Node:
        return self.inner.setdefault((name, kind), _Node(name, kind))


@dataclass(slots=True)
class _Step:
    """The sum of equal parts of chains; inner steps by functions, box and class."""

    ns: int = 0
    inner: dict[tuple[tuple[str, ...], str, str], _Step] = field(default_factory=dict)

    def grow(self, node: _Node, depth: int) -> None:
        """Add the boxes of inner steps to a node; leave out those too deep."""
        for (names, cap, cls), step in self.inner.items():
            above = depth + len(names)
            if above >= MOST_DEPTH:
                continue
            top = node
            for name, kind in (*((name, "") for name in names), (cap, cls)):
                top = top.child(name, kind)
                top.ns += step.ns
            step.grow(top, above + 1)

    def join(self, other: _Step) -> None:
        """Add the equal steps of other chains."""
        self.ns += other.ns
        for key, step in other.inner.items():
            known = self.inner.get(key)
            if known is None:
                self.inner[key] = step
            else:
                known.join(step)


@dataclass(frozen=True, slots=True)
class Frame:
    """One box; places are percent across and rows down."""

    x: float
    width: float
    depth: int
    name: str
    kind: str
    title: str

    @property
    def y(self) -> int:
        """Px from the top to its upper edge."""
        return self.depth * ROW_PX

    @property
    def marked(self) -> bool:
        """Whether there is a pattern behind its name."""
        return bool(self.kind) and styles.is_marked(self.kind)


@dataclass(frozen=True, slots=True)
class Flame:
    """The graph, row by row; `left_out_ns` is the time of boxes too narrow to draw."""

    frames: list[Frame]
    rows: int
    total_ns: int
    left_out_ns: int

    @property
    def height(self) -> int:
        """Px of all rows."""
        return self.rows * ROW_PX


class Steps:
    """What the graph is drawn from: each task's name, and the steps on it."""

    def __init__(self, sums: Sums | None = None) -> None:
        self.tasks: dict[str, _Step] = {}
        if sums:
            self._stand(sums)

    def _stand(self, sums: Sums) -> None:
        words, names = sums.ledger.words.values, sums.ledger.names.values
        steps: dict[int, _Step] = {}
        stacks: dict[int, tuple[_Step, tuple[str, ...]]] = {}
        for _, at, _, comm, ns in sums.rows(tally.Q_TASK):
            steps[at] = self.tasks.setdefault(words[comm], _Step())
            steps[at].ns += ns
        # A box comes after the stack that it is on, and that after its own box.
        for question, at, of, answer, ns in sums.rows(tally.Q_NAMES, tally.Q_BOX):
            if question == tally.Q_NAMES:
                stacks[at] = steps[of], names[answer]
                continue
            below, stack = stacks[of]
            cls, cap = _box(answer, words)
            steps[at] = below.inner.setdefault((stack, cap, cls), _Step())
            steps[at].ns += ns

    def join(self, other: Steps) -> None:
        """Add those of later chains."""
        for comm, step in other.tasks.items():
            self.tasks.setdefault(comm, _Step()).join(step)


def steps(answer: Answer) -> Steps:
    """Those of all stalled writes."""
    return Steps(answer.details)


def flame(answer: Answer) -> Flame:
    """Draw the graph of all stalled writes."""
    return drawn(steps(answer))


def drawn(found: Steps) -> Flame:
    """Draw the graph of one run's steps, or of several runs'."""
    root = _Node("stalled writes")
    for comm, step in found.tasks.items():
        root.ns += step.ns
        top = root.child(comm)
        top.ns = step.ns
        step.grow(top, 2)
    rows = list(_boxes(root, root.ns, 0, 0)) if root.ns else []
    depth = max((row.depth for row in rows), default=-1) + 1
    return Flame(rows, depth, root.ns, _left_out(root, root.ns))


def _box(number: int, words: list[str]) -> tuple[str, str]:
    """A box's class, and its text: the class and its holder or disk."""
    rest, word = divmod(number, tally.WORD)
    cls = NAMES[rest // tally.FORMS]
    caps = {tally.HELD_BY: f"{cls}, held by {words[word]}"}
    caps[tally.ON_DISK] = f"{cls} {words[word]}".strip()
    return cls, caps.get(rest % tally.FORMS, cls)


def _shown(node: _Node, total_ns: int) -> list[_Node]:
    inner = sorted(node.inner.values(), key=lambda row: (-row.ns, row.name))
    return [row for row in inner if row.ns >= LEAST_SHARE * total_ns]


def _boxes(node: _Node, total_ns: int, left_ns: int, depth: int) -> Iterator[Frame]:
    title = f"{node.name}: {ms(node.ns)}, {percent(node.ns, total_ns)}"
    x, width = scales.share(left_ns, total_ns), scales.share(node.ns, total_ns)
    yield Frame(x, width, depth, node.name, node.kind, title)
    for inner in _shown(node, total_ns):
        yield from _boxes(inner, total_ns, left_ns, depth + 1)
        left_ns += inner.ns


def _left_out(node: _Node, total_ns: int) -> int:
    """Stall time of inner boxes that are not drawn."""
    shown = _shown(node, total_ns)
    hidden = sum(row.ns for row in node.inner.values()) - sum(row.ns for row in shown)
    return hidden + sum(_left_out(row, total_ns) for row in shown)
