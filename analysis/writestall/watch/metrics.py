# SPDX-License-Identifier: GPL-2.0-only
"""metrics: count what is reported of stalls, as metrics of a host that is watched.

prometheus_client keeps and formats them; the names are those of export/to_prometheus.py
where a finished run has the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from writestall.common.scales import S
from writestall.export.to_prometheus import BUCKETS_NS, BY_CLASS, BY_ROOT, LOST, STALL
from writestall.watch.bounded import Series
from writestall.watch.explaining import Explaining
from writestall.watch.reporting import Reported
from writestall.watch.samples import Cost, Open

# Sets of labels that have a series of their own; a histogram is 16 samples of each.
MOST_PLACES, MOST_CLASSES, MOST_ROOTS = 100, 40, 50
# Any user can make cgroups below user.slice: services, containers and pods have series
# that these cannot take.
MOST_GROUPS, MOST_USERS_GROUPS = 50, 20
OF_USERS = "/user.slice/"
BUCKETS_S = tuple(edge_ns / S for edge_ns in BUCKETS_NS)


class Metrics:
    """The metrics of one host, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._stalls(self.registry)
        self._tracer(self.registry)
        # What was counted elsewhere, and is in a counter already.
        self._counted: dict[Counter, float] = {}

    def _stalls(self, to: CollectorRegistry) -> None:
        self._stall = Histogram(
            STALL, "Durations of stalled calls.", ("device", "fs", "call"),
            buckets=BUCKETS_S, registry=to,
        )  # fmt: skip
        self._wait = Histogram(
            "writestall_wait_seconds",
            "Time of a stalled call in one class of waiting.",
            ("class",), buckets=BUCKETS_S, registry=to,
        )  # fmt: skip
        self._by_class = Counter(
            BY_CLASS, "Stall time by device and by what the calls waited for.",
            ("device", "class"), registry=to,
        )  # fmt: skip
        self._by_root = Counter(
            BY_ROOT, "Stall time by the root of the chains of holders.", ("root",),
            registry=to,
        )  # fmt: skip
        self._by_group = Counter(
            "writestall_stalled_by_cgroup_seconds",
            "Stall time by the cgroup of the tasks.", ("cgroup",), registry=to,
        )  # fmt: skip
        self._of_group = Counter(
            "writestall_stalls_by_cgroup", "Stalled calls by the cgroup of the tasks.",
            ("cgroup",), registry=to,
        )  # fmt: skip
        self._explained = Counter(
            "writestall_explained_seconds", "Stall time that is explained.", registry=to
        )
        self._places = Series(MOST_PLACES, self._stall)
        self._classes = Series(MOST_CLASSES, self._wait)
        self._pairs = Series(MOST_PLACES, self._by_class)
        self._roots = Series(MOST_ROOTS, self._by_root)
        by_group = self._by_group, self._of_group
        self._groups = Series(MOST_GROUPS, *by_group)
        self._users_groups = Series(MOST_USERS_GROUPS, *by_group)
        self._open = Gauge(
            "writestall_open_stalls", "Calls that stall now, for 2 s or longer.",
            registry=to,
        )  # fmt: skip
        self._longest = Gauge(
            "writestall_open_stall_seconds",
            "How long the longest of the calls has lasted that stall now.", registry=to,
        )  # fmt: skip

    def _tracer(self, to: CollectorRegistry) -> None:
        self._armed = Gauge(
            "writestall_armed", "Whether the tracer is armed.", registry=to
        )
        self._engine = Info("writestall_engine", "What traces.", registry=to)
        self._lost = Counter(LOST, "Events the tracer lost.", ("what",), registry=to)
        self._events = Counter("writestall_events", "Events read.", registry=to)
        self._unreported = Counter(
            "writestall_unreported_stalls",
            "Stalled calls that are counted, but were too many to be explained.",
            registry=to,
        )
        self._evicted = Counter(
            "writestall_evicted_events",
            "Events dropped early, because they were too many.", registry=to,
        )  # fmt: skip
        self._unprinted = Counter(
            "writestall_unprinted_lines",
            "Lines that were not printed, because the output was too slow.",
            registry=to,
        )
        self._probes = Gauge(
            "writestall_probes_not_loaded", "Probes that this kernel does not have.",
            ("probe",), registry=to,
        )  # fmt: skip
        self._cpu = Counter(
            "writestall_cpu_seconds", "CPU time of the tracer's own processes.",
            ("process",), registry=to,
        )  # fmt: skip
        self._resident = Gauge(
            "writestall_resident_bytes", "Memory of the tracer's own processes.",
            ("process",), registry=to,
        )  # fmt: skip
        self._dumps = Counter(
            "writestall_dumps", "Run directories written, by what made it write one.",
            ("trigger",), registry=to,
        )  # fmt: skip
        self._undumped = Counter(
            "writestall_undumped", "Run directories wanted and not written.",
            ("trigger",), registry=to,
        )  # fmt: skip
        self._unread = Counter(
            "writestall_unread_files",
            "Files of processes, such as executables, that could not be read.",
            registry=to,
        )

    def add(self, reported: Reported) -> None:
        write, place = reported.chain.write, reported.place
        now_ns = write.t_ns + write.dur_ns
        call = write.call or "write"
        labels = self._places.of(now_ns, place.disk, place.type, call)
        self._stall.labels(*labels).observe(write.dur_ns / S)
        for name, ns in reported.by_class.items():
            self._wait.labels(*self._classes.of(now_ns, name)).observe(ns / S)
            pair = self._pairs.of(now_ns, place.disk, name)
            self._by_class.labels(*pair).inc(ns / S)
        for root, ns in reported.by_root.items():
            self._by_root.labels(*self._roots.of(now_ns, str(root))).inc(ns / S)
        of_user = str(reported.chain.task.cgroup).startswith(OF_USERS)
        groups = self._users_groups if of_user else self._groups
        group = groups.of(now_ns, reported.group)
        self._by_group.labels(*group).inc(write.dur_ns / S)
        self._of_group.labels(*group).inc()
        self._explained.inc(reported.chain.explained_ns / S)

    def follow(self, explaining: Explaining, unprinted: int = 0) -> None:
        """Bring what was counted elsewhere up to date."""
        counts = explaining.counts
        self._raise(self._events, counts.events)
        self._raise(self._unreported, counts.unreported)
        self._raise(self._evicted, explaining.ring.evicted)
        self._raise(self._unprinted, unprinted)
        for what, count in {"events": 0, **counts.lost}.items():
            self._raise(self._lost.labels(what), count)
        begin = explaining.begin
        self._armed.set(begin is not None and explaining.end is None)
        if begin:
            self._engine.info(
                {
                    "engine": begin.engine,
                    "version": begin.engine_version or "",
                    "kernel": begin.kernel or "",
                }
            )

    def open(self, stalls: Open) -> None:
        """Take the stalls that have not ended."""
        self._open.set(stalls.count)
        self._longest.set(stalls.longest_s)

    def cost(self, costs: Iterable[Cost]) -> None:
        """Take what the tracer's processes have cost so far."""
        for one in costs:
            self._raise(self._cpu.labels(one.process), one.cpu_s)
            self._resident.labels(one.process).set(one.resident_bytes)

    def missing(self, probes: Iterable[str]) -> None:
        """Take the probes that did not load."""
        for name in probes:
            self._probes.labels(name).set(1)

    def dumped(self, trigger: str) -> None:
        """Count a run directory."""
        self._dumps.labels(trigger).inc()

    def undumped(self, trigger: str) -> None:
        """Count one that was not written."""
        self._undumped.labels(trigger).inc()

    def unread(self, files: int) -> None:
        """Count files of processes that could not be read."""
        self._unread.inc(files)

    def _raise(self, counter: Counter, now: float) -> None:
        """Raise a counter to what was counted elsewhere; that never falls."""
        before = self._counted.get(counter, 0)
        if now > before:
            counter.inc(now - before)
            self._counted[counter] = now
