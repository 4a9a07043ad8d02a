# SPDX-License-Identifier: GPL-2.0-only
"""test_disk_series: a recorded disk comes back: events to series to rules to delays."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_scenario import run

from labrun.injectors import biodelay
from labrun.run import tracer, tracing_command
from labrun.scenario import disk_series, reading, replayed
from labrun.scenario.rule import MAX_SEGMENTS, Inject, attributes
from support import PROJECT
from writestall.events.run_directory import RunDir
from writestall.events.stream import stream_of
from writestall.export.to_disk_series import document
from writestall.verdict.episodes import episodes, fidelity
from writestall_base.errors import UserError

SCHEMA = json.loads((PROJECT / "docs/disk-series.schema.json").read_text())
MS = 10**6
START_NS = 5_000_000_123
LENGTH_MS = 12_000
WINDOW_MS = 100
IO_MS = 10
KINDS = (
    ("read", ()),
    ("write", ()),
    ("write", ("meta",)),
    ("write", ("preflush", "fua")),
    ("flush", ("preflush",)),
)
# When each kind is submitted: an open loop with a phase of its own.
PERIOD_MS = {"read": 13.0, "write": 17.0, "flush": 40.0}

# When an episode begins and ends, and how long its bios take, in ms.
Injected = tuple[int, int, int]


@st.composite
def injected(draw: Any) -> list[Injected]:
    """Episodes of 300 to 900 ms with bios of 60 to 2000 ms, a second apart or more."""
    found, at_ms = [], 500
    while at_ms < LENGTH_MS - 4000:
        length_ms, height_ms = draw(st.integers(300, 900)), draw(st.integers(60, 2000))
        found.append((at_ms, at_ms + length_ms, height_ms))
        at_ms += length_ms + height_ms + draw(st.integers(1000, 4000))
    return found


def submissions(phase: float) -> Iterator[tuple[float, int]]:
    """The bios of a workload: time in ms, and the place in KINDS."""
    for number, (op, _) in enumerate(KINDS):
        at_ms = phase * PERIOD_MS[op] + number
        while at_ms < LENGTH_MS:
            yield at_ms, number
            at_ms += PERIOD_MS[op]


def lines_of(disk: list[Injected]) -> Iterator[bytes]:
    """What the tracer prints of that disk."""
    rng = random.Random(1)
    windows: dict[tuple[int, int], list[int]] = {}
    for at_ms, number in submissions(0.3):
        op, flags = KINDS[number]
        slow = next((h for a, b, h in disk if a <= at_ms < b), None)
        late_ms = slow * rng.uniform(0.9, 1) if slow else rng.uniform(0.05, 0.4)
        kind = {"dev": "254:16", "op": op, "flags": list(flags), "bytes": 4096}
        t_ns, dur_ns = START_NS + round(at_ms * MS), round(late_ms * MS)
        if late_ms >= IO_MS:
            row = {"ev": "io", "t_ns": t_ns, "dur_ns": dur_ns, "tid": 1, **kind}
            row |= {"sector": 0, "depth": 2, "gap": -8, "throttled_ns": 0}
            yield json.dumps(row).encode()
            continue
        window = (t_ns + dur_ns) // (WINDOW_MS * MS)
        windows.setdefault((window, number), []).append(bound_of(dur_ns))
    for (window, number), bounds in windows.items():
        op, flags = KINDS[number]
        told = [f"{ns}:{bounds.count(ns)}" for ns in sorted(set(bounds))]
        row = {"ev": "ios", "t_ns": window * WINDOW_MS * MS, "dur_ns": WINDOW_MS * MS}
        row |= {"dev": "254:16", "op": op, "flags": list(flags)}
        row |= {"count": len(bounds), "bytes": 4096, "latencies": told}
        row |= {"depths": [f"1:{len(bounds)}:{sum(bounds)}"], "gaps": ["0:1", "16:1"]}
        yield json.dumps(row).encode()


def bound_of(ns: int) -> int:
    """The least latency of a bucket, 8 between two powers of 2."""
    power = ns.bit_length() - 1
    return ns >> (power - 3) << (power - 3) if ns >= 1152 else 0


def exported(lines: Iterable[bytes], folder: Path) -> Path:
    """The series of a recording, as `writestall export --to disk` writes it."""
    disks = [{"name": "vdb", "dev": "254:16"}]
    run = RunDir(folder, {"window": {"start_ns": START_NS}, "disks": disks})
    answer: Any = SimpleNamespace(run=run, stream=stream_of("core.jsonl", lines))
    text = document(answer)
    path = folder / "disk-series.json"
    path.write_text(text)
    return path


class Module:
    """What kmod/series.c does with a rule's series."""

    def __init__(self, rule: Inject) -> None:
        text = attributes(rule, 0, "vdb", 1)["series"]
        self.times: list[int] = []
        self.tables: list[list[tuple[int, int]]] = []
        for piece in biodelay.pieces(text):
            for word in piece.split():
                ppb, colon, ns = word.partition(":")
                if colon:
                    self.tables[-1].append((int(ppb), int(ns)))
                else:
                    self.times.append(int(word))
                    self.tables.append([])

    def delay_ns(self, at_ms: float, ppb: int) -> int:
        """The delay of a bio, by a random share."""
        table = self.table(at_ms)
        for (p0, n0), (p1, n1) in pairwise(table):
            if p0 <= ppb < p1:
                return n0 + (n1 - n0) * (ppb - p0) // (p1 - p0)
        return 0

    def table(self, at_ms: float) -> list[tuple[int, int]]:
        at = bisect_right(self.times, int(at_ms))
        return self.tables[at - 1] if at else []


def checked(modules: Iterable[Module]) -> None:
    """What the kernel refuses (kmod/series.c)."""
    for module in modules:
        assert module.times == sorted(set(module.times))
        assert len(module.times) <= MAX_SEGMENTS
        assert sum(map(len, module.tables)) <= disk_series.MAX_POINTS
        assert module.tables[-1] == []
        for table in filter(None, module.tables):
            assert table == sorted(table) and 2 <= len(table) <= 64
            assert [p for p, _ in table] == sorted(p for p, _ in table)
            assert [n for _, n in table] == sorted(n for _, n in table)
            assert (table[0][0], table[-1][0]) == (0, 10**9)


def replayed_bios(modules: dict[str, Module], phase: float) -> list[tuple[int, int]]:
    """Submission and latency, in ns, of the workload with another phase."""
    rng = random.Random(2)
    found = []
    for at_ms, number in submissions(phase):
        name = disk_series.class_of(*map_kind(number))
        module = modules.get(name or "")
        late_ns = module.delay_ns(at_ms, rng.randrange(10**9)) if module else 0
        found.append((round(at_ms * MS), late_ns + 200_000))
    return [(at, late) for at, late in found if late >= IO_MS * MS]


def map_kind(number: int) -> tuple[str, list[str]]:
    return KINDS[number][0], list(KINDS[number][1])


@settings(max_examples=20)
@given(injected(), st.floats(0, 1))
def test_injected_episodes_survive(disk: list[Injected], phase: float) -> None:
    with TemporaryDirectory() as folder:
        path = exported(lines_of(disk), Path(folder))
        _, rules = disk_series.rules(path, None)
        slow = [
            (at, late)
            for kind in json.loads(path.read_text())["disks"][0]["kinds"]
            for at, late, *_ in kind["slow"]
        ]
    modules = [Module(rule) for rule in rules]
    checked(modules)
    names = {rule: name for name, rule in disk_series.CLASSES.items()}
    by_class = {
        names[Inject(ops=r.ops, flags_any=r.flags_any, flags_none=r.flags_none)]: m
        for r, m in zip(rules, modules, strict=True)
    }
    recorded = episodes(slow)
    assert len(recorded) == len(disk)
    for one, (start_ms, end_ms, height_ms) in zip(recorded, disk, strict=True):
        assert start_ms <= one.start_ns / MS < end_ms
        assert 0.9 * height_ms <= one.height_ns / MS <= height_ms
    found = fidelity(recorded, replayed_bios(by_class, phase))
    assert found.share >= 0.95, found


def test_a_disk_that_stays_fast_does_not_pass() -> None:
    """The figure can fail: another disk is no replay."""
    recorded = episodes([(1000 * MS, 300 * MS), (5000 * MS, 80 * MS)])
    assert fidelity(recorded, []).share == 0
    assert fidelity(recorded, []).silent == 2
    late = [(1000 * MS, 300 * MS), (5000 * MS, 200 * MS)]
    assert fidelity(recorded, late).share == 0.5
    assert fidelity(recorded, [(3000 * MS, 300 * MS)]).share == 0


def test_the_file_is_as_its_schema_says(tmp_path: Path) -> None:
    path = exported(lines_of([(1000, 1500, 100)]), tmp_path)
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)


def test_what_the_lab_disk_takes_is_no_delay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = exported(lines_of([]), tmp_path)
    _, (rule,) = disk_series.rules(path, None)
    checked([Module(rule)])
    assert rule.series == ("0",)
    said = capsys.readouterr().err
    assert "no bio of vdb took 1 ms longer than the lab's own disk" in said
    given = ("gc-log", "--from", str(path), "--build", str(tmp_path))
    assert run("--check", *given).returncode == 0


def test_a_silent_window_has_the_bio_in_flight(tmp_path: Path) -> None:
    row = {"ev": "io", "t_ns": START_NS + 1000 * MS, "dur_ns": 450 * MS, "tid": 1}
    row |= {"dev": "254:16", "op": "flush", "flags": ["preflush"], "throttled_ns": None}
    path = exported([json.dumps(row).encode()], tmp_path)
    _, (rule,) = disk_series.rules(path, "vdb")
    ns = 450 * MS - disk_series.OWN_NS
    assert rule.series == (f"1000 0:{ns} 1000000000:{ns}", "1500")
    assert rule.ops == ("flush",) and rule.mode == "defer"


def test_a_window_is_cut_where_the_disk_becomes_slow(tmp_path: Path) -> None:
    """A bio each 20 ms, slow from 1430 to 2130 ms; those in flight then are no cut."""

    def lines() -> Iterator[bytes]:
        about = {"dev": "254:16", "op": "write", "flags": []}
        for window in (*range(10, 15), *range(21, 26)):
            t_ns = (
                START_NS // (WINDOW_MS * MS) * WINDOW_MS * MS + window * WINDOW_MS * MS
            )
            row = {"ev": "ios", "t_ns": t_ns, "dur_ns": WINDOW_MS * MS, **about}
            yield json.dumps(row | {"count": 2, "latencies": ["131072:2"]}).encode()
        for at_ms in range(1430, 2130, 20):
            row = {"ev": "io", "t_ns": START_NS + at_ms * MS, "tid": 1, **about}
            yield json.dumps(row | {"dur_ns": 250 * MS}).encode()

    _, (rule,) = disk_series.rules(exported(lines(), tmp_path), None)
    ns = 250 * MS - disk_series.OWN_NS
    assert rule.series == (f"1425 0:{ns} 1000000000:{ns}", "2115")


def test_a_long_recording_keeps_its_longest_bios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines() -> Iterator[bytes]:
        for number in range(3000):
            late_ms = 500 if number % 100 == 50 else 12
            row = {"ev": "io", "t_ns": START_NS + number * 200 * MS, "tid": 1}
            row |= {"dur_ns": late_ms * MS, "dev": "254:16", "op": "write"}
            yield json.dumps(row).encode()

    _, (rule,) = disk_series.rules(exported(lines(), tmp_path), None)
    checked([Module(rule)])
    long_ns = 500 * MS - disk_series.OWN_NS
    for number in range(50, 3000, 100):
        at_ms = (number * 200) // WINDOW_MS * WINDOW_MS
        assert f"{at_ms} 0:{long_ns} 1000000000:{long_ns}" in rule.series
    assert "windows of 100 ms without a bio above" in capsys.readouterr().err


def test_a_scenario_takes_the_disk_for_its_own(tmp_path: Path) -> None:
    path = exported(lines_of([(1000, 1500, 100)]), tmp_path)
    given = ("gc-log", "--from", str(path), "--build", str(tmp_path))
    assert run("--check", *given).returncode == 0
    refused = run("--check", *given, "--injector", "dm-delay")
    assert refused.returncode == 2 and "series" in refused.stderr
    stray = run("--check", "gc-log", "--from-device", "vdb")
    assert stray.returncode == 2 and "--from-device needs --from" in stray.stderr
    found, table = reading.load(reading.find("gc-log"))
    disk = disk_series.rules(path, None)
    assert replayed.applied(found, disk).inject == disk[1]
    told = replayed.as_read(table, disk)
    assert told["replayed"] == "vdb" and "expect" not in told
    assert told["inject"][0]["series"] == disk[1][0].series
    assert "submitter" not in told["inject"][0]


def test_its_own_bios_are_counted_by_a_tracer_that_can(tmp_path: Path) -> None:
    own, _ = reading.load(reading.find("gc-log"))
    path = exported(lines_of([(1000, 1500, 100)]), tmp_path)
    replaying = replayed.applied(own, disk_series.rules(path, None))
    counting = {
        (name, scenario is replaying)
        for name, engine in tracer.ENGINES.items()
        for scenario in (own, replaying)
        if "--series-ms" in tracing_command.argv(tmp_path, scenario, engine, path)
    }
    assert counting == {("core", True)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "not a series of disks"),
        ("[1]", "not a series of disks"),
        ("{", "not a series of disks"),
        ('{"format": 2}', "format 2, not 1"),
        ('{"format": 1, "window_ns": 100000000, "disks": []}', "no bios in it"),
        ('{"format": 1, "window_ns": 1, "disks": []}', "not a series of disks"),
        ('{"format": 1, "window_ns": Infinity, "disks": []}', "not a series of disks"),
        (
            '{"format": 1, "window_ns": 100000000, "disks": [{"dev": "1:1",'
            ' "name": null, "kinds": [{"op": "read", "flags": [],'
            ' "windows": [[0, ["x:1"]]], "slow": []}]}]}',
            "not a series of disks",
        ),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "disk-series.json"
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        disk_series.rules(path, None)


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "disk-series.json"
    path.write_text("[]" * 1000)
    monkeypatch.setattr(disk_series, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="larger than"):
        disk_series.rules(path, None)


def test_an_unknown_disk_is_refused(tmp_path: Path) -> None:
    path = exported(lines_of([(1000, 1500, 100)]), tmp_path)
    with pytest.raises(UserError, match=r"no disk sdx; known: 254:16 \(vdb\)"):
        disk_series.rules(path, "sdx")
