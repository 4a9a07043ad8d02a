# SPDX-License-Identifier: GPL-2.0-only
"""reporting: put an explained stall into one line, and into fields for a journal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from writestall.chain.cgroups import Naming, crosses, label
from writestall.chain.merge import merged, unqueued
from writestall.chain.parts import INFERRED, WAIT, Chain, Part, Task
from writestall.chain.roots import Root, Roots, largest_first
from writestall.events.run_directory import RunDir, tables
from writestall.watch.explaining import Explained
from writestall_base import wait_classes as c
from writestall_base.units import ms, percent, printable

# How many holders of a chain a line names.
MOST_HOLDERS = 4
# The fields that tell one stall from all others.
IDENTITY = ("TID", "START_MONOTONIC_NS")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the file of a call is: names of its disk and its file system's type."""

    disk: str
    type: str


@dataclass(frozen=True, slots=True)
class Reported:
    """The data of a stall that lines and metrics print; times in ns."""

    chain: Chain
    place: Place
    group: str
    by_class: dict[str, int]
    by_root: dict[Root, int]
    gap_ns: int = 0
    steps: tuple[Part, ...] = field(default=())

    @property
    def root(self) -> tuple[str, int]:
        """What most of the stall comes down to, and how much of it."""
        root, ns = next(iter(self.by_root.items()), (Root(c.UNEXPLAINED, ""), 0))
        return str(root), ns


class Reporter:
    """Tells the stalls of a host, with the names of cgroups."""

    def __init__(self, run: RunDir, name: Naming = label) -> None:
        self._name = name
        self.renew(run)

    def renew(self, run: RunDir) -> None:
        """Take the disks and file systems as the manifest has them now."""
        self._roots = Roots(run, self._name)
        self._types = {
            str(row.get("dev")): str(row.get("type"))
            for row in tables(run.get("filesystems"))
        }
        own = run.get("filesystem", "dev") or run.get("device", "dev")
        if own:
            self._types.setdefault(str(own), str(run.get("filesystem", "type")))

    def forget(self) -> None:
        """Empty what is remembered of the tasks so far."""
        self._roots.forget()

    def knows(self, dev: str | None) -> bool:
        """Whether a device is among those of the manifest."""
        return dev is None or dev in self._types

    def reported(self, explained: Explained) -> Reported:
        """All there is to tell of a stall."""
        chain = explained.chain
        write = chain.write
        self._roots.learn(explained.answer.stream.io_max)
        parts = merged(unqueued(part) for part in chain.parts)
        by_class = largest_first(
            (part.cls if part.kind == WAIT else part.kind, part.dur_ns)
            for part in parts
        )
        return Reported(
            chain=chain,
            place=self.place(write.dev),
            group=self.group(chain.task.cgroup),
            by_class=by_class,
            by_root=largest_first(self._roots.of(chain).items()),
            gap_ns=explained.gap_ns,
            steps=tuple(_steps(parts)),
        )

    def place(self, dev: str | None) -> Place:
        """The disk and file system of a device number."""
        return Place(self._roots.disk(dev), self._types.get(str(dev), "?"))

    def group(self, path: str | UnsetType) -> str:
        """The name of a cgroup; empty where none is known, or it says nothing."""
        return self._name(str(path)) if crosses(path, UNSET) else ""

    def line(self, reported: Reported) -> str:
        """One line, without its time."""
        chain, write = reported.chain, reported.chain.write
        root, ns = reported.root
        words = [_task(chain.task, reported.group), f"{write.name} {write.path or '?'}"]
        if write.bytes is not None:
            words.append(f"{write.bytes} B")
        words.append(f"took {ms(write.dur_ns)}:")
        words.append(self._why(reported))
        words.append(f"root: {root} ({percent(ns, write.dur_ns)}),")
        words.append(f"explained {percent(chain.explained_ns, write.dur_ns)}")
        if reported.gap_ns:
            words.append(f"(events of its first {ms(reported.gap_ns)} were dropped)")
        return printable(" ".join(words))

    def fields(self, reported: Reported) -> dict[str, object]:
        """The same as fields, by the names that a journal's entry has, in upper case.

        What is not known is left out.
        """
        chain, write = reported.chain, reported.chain.write
        first = reported.steps[0] if reported.steps else None
        found: dict[str, object] = {
            "COMM": chain.task.comm,
            "TID": write.tid,
            "PID": write.pid,
            "CGROUP": chain.task.cgroup or None,
            "CONTAINER": reported.group,
            "CALL": write.call or "write",
            "FILE": write.path,
            "DEVICE": reported.place.disk,
            "FS": reported.place.type,
            "START_MONOTONIC_NS": write.t_ns,
            "DURATION_MS": round(write.dur_ns / 1e6),
            "WAITED_FOR": next(iter(reported.by_class), None),
            "HOLDER": first.holder.thread if first and first.holder else None,
            "HOLDER_INFERRED": first.link == INFERRED if first else None,
            "ROOT": reported.root[0],
            "EXPLAINED_PERCENT": int(100 * chain.explained_ns / (write.dur_ns or 1)),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _why(self, reported: Reported) -> str:
        """What it waited for and who held that, from holder to holder."""
        if not reported.steps:
            return f"{next(iter(reported.by_class), c.UNEXPLAINED)};"
        texts = [self._step(at, part) for at, part in enumerate(reported.steps)]
        return f"{', which waited for '.join(texts)};"

    def _step(self, at: int, part: Part) -> str:
        what = f"{ms(part.dur_ns)} {part.cls}" if at == 0 else part.cls
        if at == 0 and part.path:
            what += f" in {part.path[-1]}"
        if part.holder is None:
            return what
        group = (
            part.holder.cgroup if crosses(part.holder.cgroup, part.task.cgroup) else ""
        )
        guess = " (inferred)" if part.link == INFERRED else ""
        return f"{what} held by {_task(part.holder, self.group(group or UNSET))}{guess}"


def _steps(parts: tuple[Part, ...]) -> Iterator[Part]:
    """The largest wait, the largest wait of its holder, and so on."""
    for _ in range(MOST_HOLDERS):
        waits = [part for part in parts if part.kind == WAIT]
        if not waits:
            return
        largest = max(waits, key=lambda part: part.dur_ns)
        yield largest
        parts = merged(largest.parts)


def _task(task: Task, group: str) -> str:
    return f"{task.thread} in {group}" if group else task.thread
