# SPDX-License-Identifier: GPL-2.0-only
"""to_prometheus: write OpenMetrics text for a node_exporter textfile.

node_exporter reads these files with the older Prometheus text parser, which has no
`info` type and expects a counter's TYPE with its suffix; this output is valid in both.
It rejects time stamps, so there are none. A run is finished, so its sums are gauges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from writestall.chain.answers import Answer
from writestall.common.scales import MS, S
from writestall.events.hlog import Latencies
from writestall.export.tables import run_name

Labels = dict[str, str]
# Names that a watched host's metrics have, too (watch/metrics.py): sums of a finished
# run are gauges here, and there counters, with the suffix _total.
STALL = "writestall_stall_seconds"
BY_CLASS = "writestall_stalled_by_class_seconds"
BY_ROOT = "writestall_stalled_by_root_seconds"
LOST = "writestall_lost_events"
# Upper edges of the histogram, in ns: 10 ms to 50 s.
BUCKETS_NS = tuple(step * 10**p * MS for p in range(1, 5) for step in (1, 2, 5))
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its HELP, TYPE and UNIT, and the samples with their labels."""

    name: str
    kind: str
    unit: str
    help: str
    samples: tuple[tuple[str, Labels, float], ...]

    def lines(self, every: Labels) -> Iterator[str]:
        """Format the metric; `every` are labels of all samples."""
        yield f"# TYPE {self.name} {self.kind}"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {self.help}"
        for suffix, labels, value in self.samples:
            text = ",".join(
                f'{key}="{label.translate(_ESCAPES)}"'
                for key, label in (every | labels).items()
            )
            yield f"{self.name}{suffix}{{{text}}} {value}"


def metrics(answer: Answer) -> str:
    """Format all metrics, `# EOF` last. A run without a stall has zeros."""
    every = {"run": run_name(answer)}
    lines = (line for family in _families(answer) for line in family.lines(every))
    return "".join(f"{line}\n" for line in (*lines, "# EOF"))


def _families(answer: Answer) -> Iterator[Family]:
    summary = answer.summary()
    yield _info(summary)
    yield _histogram(answer)
    yield _seconds(
        BY_CLASS,
        "Stall time of a run by the class that the writes themselves waited for.",
        "class",
        answer.ns_by_class.items(),
    )
    yield _seconds(
        BY_ROOT,
        "Stall time of a run by the root of the chains of holders.",
        "root",
        summary["stall_ns_by_root"].items(),
    )
    about = "Share of a run's stall time that is explained, 0 to 1."
    share = float(summary["share_explained"])
    yield _gauge("writestall_explained_ratio", about, share, "ratio")
    yield _gauge(LOST, "Events the tracer lost.", summary["lost_events"])
    if answer.latencies:
        yield from _client(answer.latencies)


def _client(latencies: Latencies) -> Iterator[Family]:
    yield _gauge("writestall_writes", "Writes the client made.", latencies.writes)
    quantiles = (
        ("0.5", latencies.p50_ns),
        ("0.99", latencies.p99_ns),
        ("0.999", latencies.p999_ns),
        ("1.0", latencies.max_ns),
    )
    yield _seconds(
        "writestall_write_latency_seconds",
        "Latency of the client's writes from their intended start.",
        "quantile",
        quantiles,
    )


def _info(summary: dict[str, object]) -> Family:
    names = ("scenario", "kernel", "engine")
    labels = {name: str(summary[name] or "") for name in names}
    return _gauge("writestall_run_info", "What a run was; always 1.", 1, "", labels)


def _gauge(
    name: str, about: str, value: float, unit: str = "", labels: Labels | None = None
) -> Family:
    return Family(name, "gauge", unit, about, (("", labels or {}, value),))


def _seconds(
    name: str, about: str, label: str, rows: Iterable[tuple[str, int]]
) -> Family:
    samples = tuple(("", {label: key}, ns / S) for key, ns in rows)
    return Family(name, "gauge", "seconds", about, samples)


def _histogram(answer: Answer) -> Family:
    durations_ns = [write.dur_ns for _, write in answer.writes]
    samples: list[tuple[str, Labels, float]] = [
        ("_bucket", {"le": f"{edge_ns / S}"}, sum(ns <= edge_ns for ns in durations_ns))
        for edge_ns in BUCKETS_NS
    ]
    samples += [
        ("_bucket", {"le": "+Inf"}, len(durations_ns)),
        ("_count", {}, len(durations_ns)),
        ("_sum", {}, answer.stall_ns / S),
    ]
    about = "Durations of a run's stalled writes."
    return Family(STALL, "histogram", "seconds", about, tuple(samples))
