# SPDX-License-Identifier: GPL-2.0-only
"""model: turns chains into the numbers of an answer: roots, shares, convoys.

Nothing here prints, and nothing behind it computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from msgspec import Struct

from writestall import classes as c
from writestall.application import Application, read_application
from writestall.chain import Explainer
from writestall.events import Write
from writestall.hlog import Latencies, read_latencies
from writestall.parse import Problem, Stream, read_stream
from writestall.parts import WAIT, Chain, Part
from writestall.rundir import RunDir
from writestall.units import many


class Root(Struct, frozen=True, gc=False):
    """What a leaf of a chain comes down to.

    `who` is jbd2, writeback, the writer or a task's name; `device` a disk's name.
    """

    cls: str
    who: str
    device: str | None = None

    def __str__(self) -> str:
        return _root_text(self)


_ROOT_TEXTS = {
    c.DEVICE_IO: "{device} slow for {who}",
    c.RUNQUEUE: "no CPU for {who}",
    c.RUNNING: "{who} on a CPU",
    c.DIRTY_THROTTLE: "dirty throttling of {who}",
    c.MEMORY: "no memory for {who}",
    c.UNEXPLAINED: "unexplained",
    c.OTHER: "short sleeps of {who}",
}


@lru_cache(maxsize=4096)
def _root_text(root: Root) -> str:
    text = _ROOT_TEXTS.get(root.cls, "{cls} of {who}")
    return text.format(cls=root.cls, who=root.who, device=root.device)


@dataclass(frozen=True, slots=True)
class Convoy:
    """Writes that waited for the same thing at the same time; the slowest is first."""

    chains: tuple[Chain, ...]


@dataclass
class Answer:
    """All that is known about a run's stalled writes; durations in ns.

    The chains are there when it is made and stay as they are: sums are built once.
    """

    run: RunDir
    engine: str
    stream: Stream
    chains: list[Chain]
    latencies: Latencies | None = None
    application: Application | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def counted(self) -> str:
        """What `latencies` are of."""
        return self.application.counted if self.application else "writes"

    @cached_property
    def stall_ns(self) -> int:
        """The stalled writes' durations in sum."""
        return sum(chain.write.dur_ns for chain in self.chains)

    @cached_property
    def share_explained(self) -> float:
        """Explained stall time, 0 to 1; 1 where nothing stalled."""
        explained = sum([chain.explained_ns for chain in self.chains])
        return explained / self.stall_ns if self.stall_ns else 1.0

    def root_of(self, chain: Chain, leaf: Part) -> Root:
        """What a leaf comes down to."""
        own = leaf.task.tid == chain.write.tid
        key = (leaf.kind, leaf.cls, leaf.explained, leaf.owner, leaf.task, own)
        known = self._known_roots.setdefault(chain.write.dev, {})
        if key not in known:
            known[key] = self._root_of(chain, leaf)
        return known[key]

    @cached_property
    def _known_roots(self) -> dict[str | None, dict[tuple[Any, ...], Root]]:
        return {}

    def _root_of(self, chain: Chain, leaf: Part) -> Root:
        cls = leaf.cls if leaf.explained else c.UNEXPLAINED
        if leaf.kind == c.SHORT_SLEEPS:
            cls = c.OTHER
        if cls == c.UNEXPLAINED:
            return Root(cls, "")
        device = self._device_of(chain, leaf) if cls == c.DEVICE_IO else None
        return Root(cls, leaf.owner or _who(chain, leaf), device)

    def _device_of(self, chain: Chain, leaf: Part) -> str:
        if disk := _journal_disk(leaf.task.comm):
            return disk
        dev = chain.write.dev
        name = self.run.get("device", "name")
        if isinstance(name, str) and dev in (None, self.run.get("device", "dev")):
            return name
        return f"disk {dev}" if dev else "the disk"

    @cached_property
    def ns_by_class(self) -> dict[str, int]:
        """Stall time by what the writes themselves waited for, largest first."""
        parts = (part for chain in self.chains for part in chain.parts)
        return _sums((part.cls, part.dur_ns) for part in parts)

    def roots(self, chains: Iterable[Chain]) -> dict[Root, int]:
        """Stall time by root, largest first."""
        return _sums(row for chain in chains for row in self._roots_of(chain))

    @cached_property
    def all_roots(self) -> dict[Root, int]:
        """The roots of all chains."""
        return self.roots(self.chains)

    def _roots_of(self, chain: Chain) -> Iterable[tuple[Root, int]]:
        """A chain's roots, each once, in the order of its leaves."""
        known = self._roots_by_id.get(chain.id)
        if known is None:
            known = self._roots_by_id[chain.id] = {}
            for leaf in chain.leaves():
                root = self.root_of(chain, leaf)
                known[root] = known.get(root, 0) + leaf.dur_ns
        return known.items()

    @cached_property
    def _roots_by_id(self) -> dict[int, dict[Root, int]]:
        return {}

    def summary(self) -> dict[str, Any]:
        """`summary.json`: design and docs/run-directory.md name the fields."""
        latencies = self.latencies
        window = self.stream.begin
        return {
            "writes": latencies.writes if latencies else None,
            "stalls": len(self.chains),
            "p50_ns": latencies.p50_ns if latencies else None,
            "p99_ns": latencies.p99_ns if latencies else None,
            "p999_ns": latencies.p999_ns if latencies else None,
            "max_ns": latencies.max_ns if latencies else None,
            "stall_ns": self.stall_ns,
            "longest_stall_ns": max((ch.write.dur_ns for ch in self.chains), default=0),
            "stall_ns_by_class": self.ns_by_class,
            "stall_ns_by_root": {str(root): ns for root, ns in self.all_roots.items()},
            "share_explained": round(self.share_explained, 6),
            "lost_events": self.stream.lost_events,
            "broken_lines": len(self.stream.problems),
            "engine": self.engine,
            "kernel": self.run.get("kernel") or (window.kernel if window else None),
            "scenario": _scenario_name(self.run),
            "notes": self.notes,
        }


@lru_cache(maxsize=4096)
def _journal_disk(comm: str) -> str | None:
    """The disk of a journal's thread, by its name, which holds 15 characters.

    jbd2 names its thread after the disk: fs/jbd2/journal.c, jbd2_stats and kjournald2's
    "jbd2/%s" with "-8" for the inode of the journal.
    """
    match = re.fullmatch(r"jbd2/(.+?)(-\d+)?", comm)
    return match[1] if match and len(comm) < 15 else None


def _scenario_name(run: RunDir) -> str | None:
    scenario = run.get("scenario")
    name = scenario.get("name") if isinstance(scenario, dict) else scenario
    return name if isinstance(name, str) else None


def _who(chain: Chain, leaf: Part) -> str:
    if leaf.task.tid == chain.write.tid:
        return "the writer"
    if leaf.task.role == c.JOURNAL and leaf.task.comm.startswith("jbd2/"):
        return "jbd2"
    if leaf.task.role == c.WRITEBACK:
        return "writeback"
    return leaf.task.comm


def _sums(rows: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    sums: dict[Any, int] = {}
    for key, ns in rows:
        sums[key] = sums.get(key, 0) + ns
    return dict(sorted(sums.items(), key=lambda row: -row[1]))


def answer(run: RunDir, wanted_engine: str | None, every: bool = False) -> Answer:
    """Explains a run's stalled writes, those to its own disk unless `every` is wanted.

    Raises WritestallError where there is nothing to explain.
    """
    engine = run.pick_engine(wanted_engine)
    stream = read_stream(run.events(engine))
    explainer = Explainer(stream)
    notes = run.notes + _gaps(stream)
    writes = stream.writes if every else own_writes(run, stream, notes)
    chains = [explainer.chain(number, write) for number, write in writes]
    found = Answer(run, engine, stream, chains, notes=notes)
    found.latencies, problems = read_latencies(run.path / "writer.hlog")
    found.notes += _told(problems)
    found.application = read_application(run)
    if found.application:
        found.notes += _told(found.application.problems)
    return found


# File systems whose files have their disk's number (fs/super.c, setup_bdev_super());
# btrfs' have one of their own.
DISKS_NUMBER = ("ext4", "xfs", "f2fs")


def own_writes(
    run: RunDir, stream: Stream, notes: list[str]
) -> list[tuple[int, Write]]:
    """Writes to the run's disk; all of them where its number fits none and need not."""
    dev = run.get("device", "dev")
    own = [row for row in stream.writes if row[1].dev in (None, dev)]
    others = len(stream.writes) - len(own)
    numbered = run.get("filesystem", "type") in DISKS_NUMBER
    if not others or not (own or numbered):
        return stream.writes
    stalls = many(others, "stalled write")
    notes.append(f"{stalls} to other disks left out; explain --all shows them")
    return own


def _gaps(stream: Stream) -> list[str]:
    """What is missing from a tracer's stream, one line each."""
    name = f"events/{stream.file}"
    notes = []
    if stream.begin is None:
        notes.append(f"{name}: no begin line: when tracing began is not known")
    if stream.end is None:
        notes.append(f"{name}: no end line: the tracer was cut off")
    return notes + _told(stream.problems, "events/")


def _told(problems: list[Problem], folder: str = "") -> list[str]:
    """Problems as notes: the first, and how many more."""
    if not problems:
        return []
    more = f" ({len(problems) - 1} more like it)" if len(problems) > 1 else ""
    first = problems[0]
    place = f"{first.file}:{first.line}" if first.line else first.file
    return [f"{folder}{place}: {first.text}{more}; left out"]


def convoys(chains: list[Chain]) -> list[Convoy]:
    """Groups writes that wait for the same root event at once; slowest first."""
    groups: dict[Any, list[Chain]] = {}
    for chain in sorted(chains, key=lambda chain: -chain.write.dur_ns):
        groups.setdefault(_convoy_key(chain), []).append(chain)
    return [Convoy(tuple(group)) for group in groups.values()]


def _convoy_key(chain: Chain) -> tuple[Any, ...]:
    """The event the longest root rests on, and how the write came to it."""
    path: list[str] = []
    parts = chain.parts
    leaf: Part | None = None
    while parts:
        leaf = max(parts, key=lambda part: part.dur_ns)
        path.append(leaf.cls)
        parts = leaf.parts
    if leaf is None or leaf.kind != WAIT or not leaf.evidence:
        return (chain.id,)
    return (leaf.evidence[0], *path[:1])
