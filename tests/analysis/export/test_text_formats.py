# SPDX-License-Identifier: GPL-2.0-only
"""This test will parse folded stacks, metrics, logs and CSV: the same numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

import build
from golden_runs import NAMES, unpacked
from writestall.cli.main import main
from writestall.events.hlog import DIGITS, HIGHEST_NS

Capture = pytest.CaptureFixture[str]
# The parsers carry no types.
read_openmetrics: Any = openmetrics.text_string_to_metric_families
read_prometheus: Any = parser.text_string_to_metric_families
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(params=NAMES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each recorded run, explained: summary.json and chains.json are there."""
    path = unpacked(request.param, tmp_path)
    assert main(["explain", str(path)]) == 0
    return path


def summary(run: Path) -> dict[str, Any]:
    """The run's own numbers."""
    found: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return found


def chains(run: Path) -> list[dict[str, Any]]:
    """The run's chains."""
    found: list[dict[str, Any]] = json.loads((run / "chains.json").read_text())[
        "chains"
    ]
    return found


def exported(run: Path, name: str, capsys: Capture) -> str:
    """What one format prints."""
    capsys.readouterr()
    assert main(["export", str(run), "--to", name]) == 0
    return capsys.readouterr().out


def test_folded_stacks_add_up(run: Path, capsys: Capture) -> None:
    """Weights are the stall time in us; a class has its own, each line rounded."""
    expected = summary(run)
    lines = exported(run, "folded", capsys).splitlines()
    rows = [
        (stack.split(";"), int(us)) for stack, us in (x.rsplit(" ", 1) for x in lines)
    ]
    assert sum(us for _, us in rows) == round(expected["stall_ns"] / 1000)
    for cls, ns in expected["stall_ns_by_class"].items():
        of_class = [us for frames, us in rows if frames[-1] == cls]
        assert abs(sum(of_class) - ns / 1000) <= max(len(of_class), 1)
    asleep = {"journal_buffer": "do_get_write_access", "page_lock": "io_schedule"}
    for frames, _ in rows:
        assert asleep.get(frames[-1], "write") in frames
    assert all(frames[0] == "latwriter" and "write" in frames for frames, _ in rows)


def test_frames_cannot_forge_frames(tmp_path: Path, capsys: Capture) -> None:
    """Separators in names become others, so that a line has its own frames only."""
    events = build.Events()
    events.block(300, 0, 500, "journal_buffer", None, comm="a;b 7\nc")
    ustack = ["fflush+0x1a [libc;so]", "0x7f00deadbeef"]
    events.write(300, 0, 500, 500, comm="a;b 7\nc", ustack=ustack)
    path = build.run_dir(tmp_path / "run", events.end())
    (line,) = exported(path, "folded", capsys).splitlines()
    frames = line.rsplit(" ", 1)[0].split(";")
    assert frames[:4] == [r"a:b 7\nc", "[unknown]", "fflush", "write"]
    assert frames[-1] == "journal_buffer" and line.endswith(" 500000")


def samples(families: Any) -> Samples:
    """Samples by name and labels, the run's own left out; none stands twice."""
    found: Samples = {}
    for family in families:
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert (sample.name, labels) not in found
            found[sample.name, labels] = sample.value
    return found


def test_metrics_are_the_summary_in_both_formats(run: Path, capsys: Capture) -> None:
    """OpenMetrics' own parser, and the older one that node_exporter has."""
    text = exported(run, "prometheus", capsys)
    assert text.endswith("\n# EOF\n")
    of = ("run", run.name)
    found = samples(read_openmetrics(text))
    assert found == samples(read_prometheus(text))
    expected = summary(run)
    assert found["writestall_stall_seconds_count", (of,)] == expected["stalls"]
    assert found["writestall_stall_seconds_sum", (of,)] == expected["stall_ns"] / 1e9
    assert found["writestall_writes", (of,)] == expected["writes"]
    assert found["writestall_explained_ratio", (of,)] == expected["share_explained"]
    for quantile, key in (("0.99", "p99_ns"), ("1.0", "max_ns")):
        labels = (("quantile", quantile), of)
        name = "writestall_write_latency_seconds"
        assert found[name, labels] == expected[key] / 1e9
    for label in ("class", "root"):
        name = f"writestall_stalled_by_{label}_seconds"
        rows = {
            dict(labels)[label]: value
            for (metric, labels), value in found.items()
            if metric == name
        }
        want = expected[f"stall_ns_by_{label}"]
        assert rows == {key: ns / 1e9 for key, ns in want.items()}


def test_metrics_count_each_stall_in_its_buckets(run: Path, capsys: Capture) -> None:
    """A bucket has the writes as long as its edge or shorter."""
    text = exported(run, "prometheus", capsys)
    found = samples(read_openmetrics(text))
    durations = [chain["dur_ns"] for chain in chains(run)]
    edges = [
        (dict(labels)["le"], value)
        for (name, labels), value in found.items()
        if name == "writestall_stall_seconds_bucket"
    ]
    assert len(edges) == 13
    for edge, value in edges:
        assert value == sum(ns <= float(edge) * 1e9 for ns in durations)


@pytest.mark.parametrize("name", ['qu"ote', "back\\slash", "line\nend", "\\n", "é{}=,"])
def test_metrics_hold_hostile_labels(
    tmp_path: Path, name: str, capsys: Capture
) -> None:
    """A label comes back as it was, whatever it holds."""
    path = build.run_dir(tmp_path / name, build.cascade())
    text = exported(path, "prometheus", capsys)
    for read in (read_openmetrics, read_prometheus):
        found = samples(read(text))
        assert {dict(labels)["run"] for _, labels in found} == {name}


def test_the_log_holds_every_stall_under_its_class(run: Path, tmp_path: Path) -> None:
    """hdrhistogram's own reader: counts by tag, values to three digits, time order."""
    target = tmp_path / "stalls.hlog"
    assert main(["export", str(run), "--to", "hlog", "-o", str(target)]) == 0
    reader = HistogramLogReader(str(target), HdrHistogram(1, HIGHEST_NS, DIGITS))
    counts: dict[str, int] = {}
    longest_ns, starts = 0, []
    while (found := reader.get_next_interval_histogram()) is not None:
        counts[found.tag] = counts.get(found.tag, 0) + found.get_total_count()
        longest_ns = max(longest_ns, found.get_max_value())
        starts.append(found.get_start_time_stamp())
    expected = summary(run)
    assert sum(counts.values()) == expected["stalls"]
    assert longest_ns == pytest.approx(expected["longest_stall_ns"], rel=1e-3)
    assert starts == sorted(starts)
    mains: dict[str, int] = {}
    for chain in chains(run):
        sums: dict[str, int] = {}
        for part in chain["parts"]:
            sums[part["class"]] = sums.get(part["class"], 0) + part["dur_ns"]
        cls = max(sums, key=lambda cls: sums[cls])
        mains[cls] = mains.get(cls, 0) + 1
    assert counts == mains


def test_csv_is_the_chains(run: Path, capsys: Capture) -> None:
    """One line per stalled write; classes add up to it, and to the summary."""
    text = exported(run, "csv", capsys)
    assert text.count("\r\n") == text.count("\n")
    rows = {int(row["write_id"]): row for row in csv.DictReader(io.StringIO(text))}
    expected = chains(run)
    assert sorted(rows) == sorted(chain["event"] for chain in expected)
    by_class = dict.fromkeys(summary(run)["stall_ns_by_class"], 0)
    for chain in expected:
        row = rows[chain["event"]]
        assert int(row["dur_ns"]) == chain["dur_ns"]
        assert int(row["explained_ns"]) == chain["explained_ns"]
        assert row["root"] == chain["root"] and row["path"] == chain["path"]
        for cls in by_class:
            by_class[cls] += int(row[f"{cls}_ns"])
    assert by_class == summary(run)["stall_ns_by_class"]


HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "\uff1d1"]


@pytest.mark.parametrize("path", [*HOSTILE, 'a"b', "a,b", "a\nb", "plain"])
def test_csv_runs_no_formula(tmp_path: Path, path: str, capsys: Capture) -> None:
    """No text begins as a formula does, and less one quote it is the name again."""
    events = build.Events()
    events.block(300, 0, 500, "journal_buffer", None)
    events.write(300, 0, 500, 500, path=path, offset=-1)
    run = build.run_dir(tmp_path / "run", events.end())
    text = exported(run, "csv", capsys)
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    cell = row["path"]
    assert cell == (f"'{path}" if path in HOSTILE else path)
    assert cell[:1] not in tuple("=+-@\t\r\n")
    assert row["offset_bytes"] == "-1"
