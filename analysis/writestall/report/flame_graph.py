# SPDX-License-Identifier: GPL-2.0-only
"""flame_graph: draw an off-CPU flame graph of the stalled writes.

Below the writer's name is the write's stack, below the function it slept in the class
of the wait, and below that the stack of the holder during that wait. Widths are stall
time and add up to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.chain.collect import Question, Source
from writestall.chain.merge import is_handed_on
from writestall.chain.parts import WAIT, Chain, Part, Task
from writestall.chain.roots import journal_disk
from writestall.classify import styles
from writestall.classify.frames import parse_stack
from writestall.classify.interruptible import callers
from writestall.common import scales
from writestall_base import wait_classes as c
from writestall_base.units import ms, percent

# Narrower than this share of the whole is less than a pixel: such boxes are left out,
# and the page says how much time they have.
LEAST_SHARE = 0.001
MOST_DEPTH = 96
ROW_PX = 18
# Every sleep ends in the first two, every system call or kernel thread begins with
# some of the others: they distinguish nothing. arch/x86/entry/,
# arch/arm64/kernel/entry-common.c and syscall.c, kernel/kthread.c kthread(),
# kernel/workqueue.c worker_thread() and process_one_work().
_EVERYWHERE = frozenset(
    """
    __schedule schedule
    entry_SYSCALL_64_after_hwframe entry_SYSCALL_64 do_syscall_64 x64_sys_call
    el0t_64_sync el0t_64_sync_handler el0_svc do_el0_svc el0_svc_common
    el0_svc_common.constprop.0 invoke_syscall invoke_syscall.constprop.0
    ret_from_fork ret_from_fork_asm kthread worker_thread process_one_work
    process_scheduled_works
    """.split()
)


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
            known = self.inner.setdefault(key, step)
            if known is not step:
                known.join(step)


@dataclass(frozen=True, slots=True)
class Frame:
    """One box; places are percent across and px down."""

    x: float
    width: float
    y: int
    name: str
    kind: str
    title: str

    @property
    def marked(self) -> bool:
        """Whether there is a pattern behind its name."""
        return bool(self.kind) and styles.is_marked(self.kind)


@dataclass(frozen=True, slots=True)
class Flame:
    """The graph, row by row; `left_out_ns` is the time of boxes too narrow to draw."""

    frames: list[Frame]
    height: int
    total_ns: int
    left_out_ns: int


class Steps:
    """A collector: each task's name, and what stands on it."""

    def __init__(self) -> None:
        self.tasks: dict[str, _Step] = {}
        # The functions of a kind of sleep, outermost first.
        self._names: dict[int, tuple[str, ...]] = {}

    def add(self, chain: Chain, source: Source) -> None:
        """Takes a chain in."""
        first = self.tasks.setdefault(chain.task.comm, _Step())
        first.ns += chain.write.dur_ns
        disk = source.roots.disk(chain.write.dev)
        for part in chain.parts:
            self._stand(first, part, disk, source)

    def _stand(self, step: _Step, part: Part, disk: str, source: Source) -> None:
        """Stands a part, and what is below it, on a step."""
        key = (self._functions(part, source), _cap(part, disk), part.cls)
        below = step.inner.get(key)
        if below is None:
            below = step.inner[key] = _Step()
        below.ns += part.dur_ns
        self._stand_inner(below, part, disk, source)

    def _stand_inner(self, step: _Step, part: Part, disk: str, source: Source) -> None:
        for inner in part.parts:
            if is_handed_on(part, inner):
                self._stand_inner(step, inner, disk, source)
            else:
                self._stand(step, inner, disk, source)

    def _functions(self, part: Part, source: Source) -> tuple[str, ...]:
        """The functions of a part; none where it is no wait of its own."""
        # A wait's own I/O has no path: its stack stands above it already.
        if part.kind != WAIT or not part.path:
            return ()
        kind = source.blocks.kind_at(part.evidence[0])
        assert kind is not None
        known = self._names.get(kind)
        if known is None:
            shape = source.blocks.shapes[kind]
            kernel = [frame.symbol for frame in reversed(parse_stack(shape.kstack))]
            symbols = (*callers(shape.ustack), *kernel)
            known = tuple(name for name in symbols if name not in _EVERYWHERE)
            self._names[kind] = known
        return known

    def close(self) -> None:
        """The stacks are not asked for again."""
        self._names.clear()

    def join(self, other: Steps) -> None:
        """Add those of later chains."""
        for comm, step in other.tasks.items():
            self.tasks.setdefault(comm, _Step()).join(step)


STEPS = Question(Steps)


def _cap(part: Part, disk: str) -> str:
    """What stands in a box: a class, and who held it or which disk it was."""
    if part.parts:
        holder = _last_holder(part)
        return f"{part.cls}, held by {holder.comm}" if holder else part.cls
    if part.cls == c.DEVICE_IO:
        return f"{part.cls} {journal_disk(part.task.comm) or disk}".strip()
    return part.cls


def _last_holder(part: Part) -> Task | None:
    """The last holder of a lock that was handed along a queue, as of unqueued()."""
    holder, longest_ns = part.holder, 0
    for inner in part.parts:
        if is_handed_on(part, inner) and inner.dur_ns > longest_ns:
            holder, longest_ns = _last_holder(inner), inner.dur_ns
    return holder


def flame(answer: Answer) -> Flame:
    """Draw the graph of all stalled writes."""
    return drawn(answer.gathered(STEPS))


def drawn(found: Steps) -> Flame:
    """Draw the graph of one run's steps, or of several runs'."""
    root = _Node("stalled writes")
    for comm, step in found.tasks.items():
        root.ns += step.ns
        top = root.child(comm)
        top.ns = step.ns
        step.grow(top, 2)
    rows = list(_boxes(root, root.ns, 0)) if root.ns else []
    height = max((row.y + ROW_PX for row in rows), default=0)
    return Flame(rows, height, root.ns, _left_out(root, root.ns))


def _shown(node: _Node, total_ns: int) -> list[_Node]:
    inner = sorted(node.inner.values(), key=lambda row: (-row.ns, row.name))
    return [row for row in inner if row.ns >= LEAST_SHARE * total_ns]


def _boxes(node: _Node, total_ns: int, left_ns: int, y: int = 0) -> Iterator[Frame]:
    title = f"{node.name}: {ms(node.ns)}, {percent(node.ns, total_ns)}"
    x, width = scales.share(left_ns, total_ns), scales.share(node.ns, total_ns)
    yield Frame(x, width, y, node.name, node.kind, title)
    for inner in _shown(node, total_ns):
        yield from _boxes(inner, total_ns, left_ns, y + ROW_PX)
        left_ns += inner.ns


def _left_out(node: _Node, total_ns: int) -> int:
    """Stall time of inner boxes that are not drawn."""
    shown = _shown(node, total_ns)
    hidden = sum(row.ns for row in node.inner.values()) - sum(row.ns for row in shown)
    return hidden + sum(_left_out(row, total_ns) for row in shown)
