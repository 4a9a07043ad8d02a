# SPDX-License-Identifier: GPL-2.0-only
"""answers: compute the numbers of an answer from its chains: roots, shares, convoys.

Nothing here prints; report/ only formats these numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

from writestall.chain import totals
from writestall.chain.cgroups import Naming, labels_of
from writestall.chain.collect import C, Chains, Collector, Question, Source, collect
from writestall.chain.critical_paths import CriticalPaths
from writestall.chain.explainer import Explainer
from writestall.chain.parts import Chain, Part
from writestall.chain.roots import Root, Roots, largest_first
from writestall.chain.totals import Totals
from writestall.events.application import Application, is_unrecorded, read_application
from writestall.events.contract import Write
from writestall.events.hlog import Latencies, Log, read_log
from writestall.events.lines import Problem
from writestall.events.run_directory import SO_FAR, RunDir
from writestall.events.stream import Stream, read_stream
from writestall_base.units import many

TOTALS = Question(Totals)
T = TypeVar("T")
# Writes with their events' line numbers.
Rows = list[tuple[int, Write]]


@dataclass
class Answer:
    """All that is known about a run's stalled writes; durations in ns.

    `writes` are the stalled ones, with their events' line numbers, by time; `unchosen`
    are those that --call left out. `log` has all writes of the client, None where none
    was to record them.
    """

    run: RunDir
    engine: str
    stream: Stream
    writes: Rows
    log: Log | None = None
    application: Application | None = None
    notes: list[str] = field(default_factory=list)
    unchosen: Rows = field(default_factory=list)
    _gathered: dict[Question[Any], Collector] = field(init=False, default_factory=dict)
    _made: dict[Callable[[Answer], Any], Any] = field(init=False, default_factory=dict)

    @cached_property
    def every_write(self) -> Rows:
        """Those that --call left out, too: an application may have waited for any."""
        both = [*self.writes, *self.unchosen]
        return sorted(both, key=lambda row: row[1].t_ns) if self.unchosen else both

    @cached_property
    def latencies(self) -> Latencies | None:
        """The percentiles of all the client's writes."""
        return self.log.latencies if self.log else None

    def thread(self, tid: int, comm: str) -> str:
        """The thread's whole name, where its program prints it; the kernel cuts it."""
        app = self.application
        name = app.complaints.names.get(tid, "") if app else ""
        return name if name.startswith(comm) else comm

    @cached_property
    def labels(self) -> Naming:
        """How its cgroups are named."""
        return labels_of(self.run)

    @cached_property
    def chains(self) -> Chains:
        """The writes' chains, by time."""
        return Chains(Explainer(self.stream), self.writes)

    @cached_property
    def paths(self) -> CriticalPaths | None:
        """The critical paths of requests; None where their sleeps are not known."""
        return CriticalPaths(self.stream) if self.stream.waits else None

    @cached_property
    def slowest(self) -> Chains:
        """The same as --write counts them: the slowest is 1."""
        return self.chains.of(sorted(self.writes, key=lambda row: -row[1].dur_ns))

    @cached_property
    def _source(self) -> Source:
        roots = Roots(self.run, self.labels)
        roots.learn(self.stream.io_max)
        done = {id: totals.operation(io) for id, io in self.stream.ios}
        known = {id: what for id, what in done.items() if what}
        return Source(self.stream.blocks, roots, known)

    def collect(
        self,
        *questions: Question[Any],
        keep: Callable[[], C] | None = None,
        most: int = 0,
    ) -> C | None:
        """Gathers answers to several questions from all chains, the slowest first.

        Returns what `keep` gathers from the first `most` of them.
        """
        questions = tuple(row for row in questions if row not in self._gathered)
        if not questions and not keep:
            return None
        makes = [question.ask for question in questions]
        found = collect(self.slowest, self._source, makes, keep, most)
        kept = found.pop() if keep else None
        self._gathered.update(zip(questions, found, strict=True))
        return cast(C | None, kept)

    def gathered(self, question: Question[C]) -> C:
        """The answer to one question, from all chains."""
        if question not in self._gathered:
            self.collect(question)
        return cast(C, self._gathered[question])

    @property
    def totals(self) -> Totals:
        return self.gathered(TOTALS)

    @property
    def counted(self) -> str:
        """What `latencies` are of."""
        return self.application.counted if self.application else "writes"

    @cached_property
    def stall_ns(self) -> int:
        """The stalled writes' durations in sum."""
        return sum(write.dur_ns for _, write in self.writes)

    @property
    def longest_ns(self) -> int:
        """The slowest one's duration; 0 without any."""
        return max((write.dur_ns for _, write in self.writes), default=0)

    @cached_property
    def convoys(self) -> dict[int, Chains]:
        """The chains that waited for the same thing at the same time, by what totals
        have for it; both the convoys and the chains of each are the slowest first.
        """
        groups: dict[int, Rows] = {}
        for key, row in zip(self.totals.convoys, self.slowest.writes, strict=True):
            groups.setdefault(key, []).append(row)
        return {key: self.chains.of(rows) for key, rows in groups.items()}

    @property
    def share_explained(self) -> float:
        """Explained stall time, 0 to 1; 1 where nothing stalled."""
        return self.totals.explained_ns / self.stall_ns if self.stall_ns else 1.0

    def root_of(self, chain: Chain, leaf: Part) -> Root:
        return self._source.roots.leaf(chain, leaf)

    @property
    def ns_by_class(self) -> dict[str, int]:
        """Stall time by what the writes themselves waited for, largest first."""
        return largest_first(self.totals.by_class.items())

    def roots(self, chains: Iterable[Chain]) -> dict[Root, int]:
        """Stall time by root, largest first."""
        of = self._source.roots.of
        return largest_first(row for chain in chains for row in of(chain).items())

    @property
    def all_roots(self) -> dict[Root, int]:
        return largest_first(self.totals.by_root.items())

    def in_words(self, root: Root) -> str:
        """A root with its operations, where events record them."""
        of_root = self.totals.by_operation.get(root, Counter())
        did = totals.in_words(of_root, self.totals.by_root[root])
        return f"{root} ({did})" if did else str(root)

    def operations_of(self, chain: Chain, root: Root, ns: int) -> str:
        """The operations behind a root of one chain, `ns` of it, in words."""
        sums: totals.Sums = {}
        source = self._source
        totals.add_operations(sums, chain, source.roots, source.operations)
        return totals.in_words(sums.get(root, {}), ns)

    def summary(self) -> dict[str, Any]:
        """`summary.json`: design and docs/run-directory.md name the fields."""
        latencies = self.latencies
        window = self.stream.begin
        return {
            "writes": latencies.writes if latencies else None,
            "stalls": len(self.writes),
            "p50_ns": latencies.p50_ns if latencies else None,
            "p99_ns": latencies.p99_ns if latencies else None,
            "p999_ns": latencies.p999_ns if latencies else None,
            "max_ns": latencies.max_ns if latencies else None,
            "stall_ns": self.stall_ns,
            "longest_stall_ns": self.longest_ns,
            "stall_ns_by_class": self.ns_by_class,
            "stall_ns_by_root": {str(root): ns for root, ns in self.all_roots.items()},
            "io_ns_by_root": {
                str(root): sums for root, sums in self.totals.by_operation.items()
            },
            "share_explained": round(self.share_explained, 6),
            "lost_events": self.stream.lost_events,
            "broken_lines": len(self.stream.problems),
            "engine": self.engine,
            "kernel": self.run.get("kernel") or (window.kernel if window else None),
            "scenario": _scenario_name(self.run),
            "notes": self.notes,
        }


def once(make: Callable[[Answer], T]) -> Callable[[Answer], T]:
    """A function of an answer that computes its result at the first call alone."""

    @wraps(make)
    def made(answer: Answer) -> T:
        if make not in answer._made:
            answer._made[make] = make(answer)
        return cast(T, answer._made[make])

    return made


def _scenario_name(run: RunDir) -> str | None:
    scenario = run.get("scenario")
    name = scenario.get("name") if isinstance(scenario, dict) else scenario
    return name if isinstance(name, str) else None


def answer(
    run: RunDir,
    wanted_engine: str | None,
    every: bool = False,
    calls: frozenset[str] | None = None,
) -> Answer:
    """Explains a run's stalled writes, those to its own disk unless `every` is wanted.

    `calls` are the names of those that are wanted, None of all.

    Raises UserError where there is nothing to explain.
    """
    engine = run.pick_engine(wanted_engine)
    stream = read_stream(run.events(engine), run.bound)
    notes = run.notes + gaps(stream) + _noted(stream.problems, "events/")
    writes = stream.writes if every else own_writes(run, stream, notes)
    writes, unchosen = _chosen(writes, calls)
    if unchosen:
        stalls = many(len(unchosen), "stalled call")
        notes.append(f"{stalls} left out; explain without --call shows them")
    found = Answer(run, engine, stream, writes, notes=notes, unchosen=unchosen)
    if not is_unrecorded(run):
        found.log = read_log(run.path / "writer.hlog")
        found.notes += _noted(found.log.problems)
    found.application = read_application(run)
    if found.application:
        found.notes += _noted(found.application.problems)
    return found


def _chosen(writes: Rows, calls: frozenset[str] | None) -> tuple[Rows, Rows]:
    """The calls of these names, and the others."""
    sides: tuple[Rows, Rows] = ([], [])
    for row in writes:
        sides[calls is not None and (row[1].call or "write") not in calls].append(row)
    return sides


# File systems whose files have their disk's number (fs/super.c, setup_bdev_super());
# of others a manifest has it since it has `filesystem.dev`.
DISKS_NUMBER = ("ext4", "xfs", "f2fs")


def own_writes(run: RunDir, stream: Stream, notes: list[str]) -> Rows:
    """Writes to the run's file system; all of them where its number is not known."""
    dev = run.get("filesystem", "dev")
    numbered = bool(dev) or run.get("filesystem", "type") in DISKS_NUMBER
    dev = dev or run.get("device", "dev")
    if dev is None:
        return stream.writes
    own = [row for row in stream.writes if row[1].dev in (None, dev)]
    if len(own) == len(stream.writes) or not (own or numbered):
        return stream.writes
    others = [row for row in stream.writes if row[1].dev not in (None, dev)]
    count = sum(not _is_of_the_lab(write) for _, write in others)
    if count:
        calls = many(count, "stalled call")
        notes.append(f"{calls} on other disks left out; explain --all shows them")
    return own


# The programs of the engines, also of those that only recorded runs have.
TRACERS = ("stalled-writes", "stap", "staprun", "stapio", "bpftrace")


def _is_of_the_lab(write: Write) -> bool:
    """Whether a call on another file system is none of the workload's.

    An anonymous number is that of 9p, where the lab keeps its own files, of proc, or of
    tracefs (fs/super.c, get_anon_bdev()). A page fault loads a program or a library.
    """
    on_no_disk = (write.dev or "").startswith("0:")
    return on_no_disk or write.call == "page_fault" or write.comm in TRACERS


def gaps(stream: Stream) -> list[str]:
    """Notes on when a stream's tracing began or ended, where it does not say."""
    name = f"events/{stream.file}"
    notes = []
    if stream.damage:
        notes.append(f"{stream.file}: {stream.damage}; {SO_FAR}")
    if stream.begin is None:
        notes.append(f"{name}: no begin line: when tracing began is not known")
    if stream.end is None:
        notes.append(f"{name}: no end line: the tracer was cut off")
    return notes


def _noted(problems: list[Problem], folder: str = "") -> list[str]:
    """Problems as notes: the first, and how many more."""
    if not problems:
        return []
    more = f" ({len(problems) - 1} more like it)" if len(problems) > 1 else ""
    first = problems[0]
    place = f"{first.file}:{first.line}" if first.line else first.file
    return [f"{folder}{place}: {first.text}{more}; left out"]
