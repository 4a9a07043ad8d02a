# SPDX-License-Identifier: GPL-2.0-only
"""test_host_metrics: metrics count what was reported, in a bounded number of series."""

from __future__ import annotations

from msgspec.structs import replace
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from golden_runs import HOMES
from streamed import fed, lines_of
from writestall.events.run_directory import open_run
from writestall.export.to_prometheus import BY_CLASS, BY_ROOT, LOST, STALL
from writestall.watch import bounded
from writestall.watch.metrics import MOST_GROUPS, MOST_PLACES, MOST_ROOTS, Metrics
from writestall.watch.reporting import Reported, Reporter
from writestall.watch.ring import S
from writestall.watch.samples import Cost, Open

NAME = "fsync-storm-6.12"


def _filled() -> tuple[Metrics, list[Reported], Reporter]:
    run = open_run(HOMES[NAME])
    explaining, found = fed(run, lines_of(run))
    reporter, metrics = Reporter(run), Metrics()
    reported = [reporter.reported(one) for one in found]
    for one in reported:
        metrics.add(one)
    explaining.counts.lost = {"events": 3, "stacks": 2}
    metrics.follow(explaining)
    metrics.follow(explaining)
    return metrics, reported, reporter


def _sum(metrics: Metrics, sample: str, **labels: str) -> float:
    return sum(
        row.value
        for family in metrics.registry.collect()
        for row in family.samples
        if row.name == sample and labels.items() <= row.labels.items()
    )


def test_sums_are_those_of_the_stalls() -> None:
    metrics, reported, _ = _filled()
    whole_s = sum(one.chain.write.dur_ns for one in reported) / S
    assert _sum(metrics, f"{STALL}_count") == len(reported)
    assert _sum(metrics, f"{STALL}_count", call="fsync", device="vdb", fs="ext4") > 0
    for name in (f"{STALL}_sum", f"{BY_CLASS}_total", f"{BY_ROOT}_total",
                 "writestall_stalled_by_cgroup_seconds_total"):  # fmt: skip
        assert abs(_sum(metrics, name) - whole_s) < 1e-6, name
    assert _sum(metrics, "writestall_stalls_by_cgroup_total") == len(reported)
    assert _sum(metrics, "writestall_armed") == 0  # the stream has ended


def test_what_was_counted_elsewhere_is_counted_once() -> None:
    metrics, _, _ = _filled()
    assert _sum(metrics, f"{LOST}_total", what="events") == 3
    assert _sum(metrics, f"{LOST}_total", what="stacks") == 2
    for cpu_s in (1.5, 1.5, 1.75):
        metrics.cost([Cost("watch", cpu_s, 4096)])
    assert _sum(metrics, "writestall_cpu_seconds_total", process="watch") == 1.75
    metrics.open(Open(2, 7.5))
    assert _sum(metrics, "writestall_open_stall_seconds") == 7.5


def test_what_is_too_many_is_other() -> None:
    metrics, reported, _ = _filled()
    form = reported[0]
    for number in range(1000):
        write = replace(form.chain.write, call=f"call{number}")
        chain = replace(form.chain, write=write)
        root = replace(next(iter(form.by_root)), who=f"task{number}")
        metrics.add(
            Reported(
                chain, form.place, f"group{number}", {"x": 1}, {root: write.dur_ns}
            )
        )
    samples = sum(len(family.samples) for family in metrics.registry.collect())
    assert samples < 5000
    other = _sum(metrics, f"{STALL}_count", call=bounded.OTHER, device=bounded.OTHER)
    assert other >= 1000 - MOST_PLACES
    assert _sum(metrics, f"{BY_ROOT}_total", root=bounded.OTHER) > 0
    roots = {
        row.labels["root"]
        for family in metrics.registry.collect()
        for row in family.samples
        if row.name == f"{BY_ROOT}_total"
    }
    assert len(roots) == MOST_ROOTS + 1


def _in_group(form: Reported, path: str, at_s: int) -> Reported:
    """The same stall, of a task in a cgroup, at another time."""
    task = replace(form.chain.task, cgroup=path)
    write = replace(form.chain.write, t_ns=at_s * S)
    chain = replace(form.chain, task=task, write=write)
    return Reported(chain, form.place, path, form.by_class, form.by_root)


def _stalls(metrics: Metrics, group: str) -> float:
    return _sum(metrics, "writestall_stalls_by_cgroup_total", cgroup=group)


def test_cgroups_of_users_take_no_series_of_services() -> None:
    metrics, (form, *_), _ = _filled()
    for number in range(100):
        path = f"/user.slice/user-1000.slice/user@1000.service/run-{number}.service"
        metrics.add(_in_group(form, path, 0))
    for path in ("/system.slice/db.service", "/kubepods.slice/a", "/docker/a"):
        metrics.add(_in_group(form, path, 1))
        assert _stalls(metrics, path) == 1


def test_a_cgroup_without_stalls_for_long_makes_room() -> None:
    _, (form, *_), _ = _filled()
    metrics = Metrics()
    for number in range(MOST_GROUPS + 10):
        metrics.add(_in_group(form, f"/system.slice/{number}.service", number))
    assert _stalls(metrics, bounded.OTHER) == 10
    late_s = MOST_GROUPS + 10 + bounded.IDLE_NS // S
    for name in ("0", "new"):
        metrics.add(_in_group(form, f"/system.slice/{name}.service", late_s))
    # The new one has the place of 1, which is idle for longest.
    found = {
        name: _stalls(metrics, f"/system.slice/{name}.service")
        for name in ("0", "1", "2", "new")
    }
    assert found == {"0": 2, "1": 0, "2": 1, "new": 1}
    # Prometheus has counted what 1 had: as another's it would be counted again.
    assert _stalls(metrics, bounded.OTHER) == 10


def test_ever_new_names_make_few_series() -> None:
    metrics, (form, *_), _ = _filled()
    names: set[str] = set()
    for at_s in range(0, 2 * bounded.IDLE_NS // S, 10):
        metrics.add(_in_group(form, f"/system.slice/{at_s}.service", at_s))
        (family,) = metrics._of_group.collect()
        names |= {row.labels["cgroup"] for row in family.samples}
    assert len(names) <= 3 * MOST_GROUPS


def test_both_formats_are_well_formed() -> None:
    metrics, _, _ = _filled()
    text = openmetrics(metrics.registry).decode()  # type: ignore[no-untyped-call]
    read = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    families = {family.name for family in read}
    assert {STALL, BY_CLASS, BY_ROOT, LOST} <= families
    assert b"writestall_stall_seconds_bucket" in generate_latest(metrics.registry)


def test_what_is_remembered_of_stacks_is_forgotten_at_times() -> None:
    from writestall.classify.stack import classify

    for number in range(bounded.MOST_REMEMBERED + 10):
        classify((f"function{number}+0x1",))
    bounded.forget()
    assert classify.cache_info().currsize == 0
