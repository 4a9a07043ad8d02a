# SPDX-License-Identifier: GPL-2.0-only
"""This test will check histograms of latencies, as text and as pictures."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hdrh.histogram import HdrHistogram

import build
from golden_runs import NAMES, unpacked
from hlog_text import HEADER, interval
from pseudo_terminal import COLOUR, SGR, on_a_terminal
from refusals import refused
from writestall.chain import answers
from writestall.cli.main import main
from writestall.common.scales import EDGES_NS, bucket_of, label
from writestall.events import run_directory
from writestall.events.hlog import DIGITS, HIGHEST_NS, counts_of
from writestall.pictures import distribution

Capture = pytest.CaptureFixture[str]


def found(run: Path) -> distribution.Histogram:
    """A run's histogram."""
    return distribution.histogram(answers.answer(run_directory.open_run(run), None))


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_are_counted_whole(name: str, tmp_path: Path) -> None:
    """Every write and every stall is in one bucket, the slowest in the last."""
    run = unpacked(name, tmp_path)
    assert main(["explain", str(run)]) == 0
    totals = json.loads((run / "summary.json").read_text())
    rows = found(run).rows
    assert sum(row.writes for row in rows) == totals["writes"]
    assert sum(sum(row.stalled.values()) for row in rows) == totals["stalls"]
    used = [row for row in rows if row.writes]
    before_last_ns = EDGES_NS[bucket_of(used[-1].edge_ns) - 1]
    assert before_last_ns < totals["max_ns"] <= used[-1].edge_ns
    below = sum(row.writes for row in rows if row.edge_ns < totals["p99_ns"])
    assert below < 0.99 * totals["writes"]


def test_edges_belong_to_the_bucket_below() -> None:
    """Exactly 5 ms is in the bucket up to 5 ms; beyond all, in the last."""
    assert label(EDGES_NS[bucket_of(5_000_000)]) == "5 ms"
    assert label(EDGES_NS[bucket_of(5_000_001)]) == "10 ms"
    assert label(EDGES_NS[bucket_of(0)]) == "1 us"
    assert label(EDGES_NS[bucket_of(10**18)]) == "1000 s"
    assert list(EDGES_NS) == sorted(set(EDGES_NS))


def test_counts_are_those_of_the_histogram() -> None:
    """Reading the whole array gives the same as the library's iterator."""
    histogram = HdrHistogram(1, HIGHEST_NS, DIGITS)
    for ns in (1, 1, 1000, 2047, 2048, 10**6, 10**9 + 1, HIGHEST_NS):
        histogram.record_value(ns, 3)
    slow = {
        histogram.get_highest_equivalent_value(item.value_iterated_to): (
            item.count_at_value_iterated_to
        )
        for item in histogram.get_recorded_iterator()
    }
    assert counts_of(histogram) == slow and sum(slow.values()) == 24


def test_the_table(tmp_path: Path, capsys: Capture) -> None:
    """A pipe gets plain text: one row per bucket, gaps included."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    (run / "writer.hlog").write_text(HEADER + interval(*[10**6] * 50, 9 * 10**8))
    assert main(["hist", str(run)]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    assert ["1", "ms"] not in lines, "a value is the highest of its like: above 1 ms"
    assert any(line[:3] == ["2", "ms", "50"] for line in lines)
    assert any(line[:2] == ["50", "ms"] and line[2] == "0" for line in lines)
    assert lines[-1][:3] == ["1", "s", "1"]
    assert lines[-1][-2:] == ["1", "journal_buffer"]
    assert "\x1b" not in out


def test_without_a_latency_log(tmp_path: Path, capsys: Capture) -> None:
    """The stalls only, and a note that says so."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    assert main(["hist", str(run)]) == 0
    out = capsys.readouterr().out
    assert "note: writer.hlog" in out and "1 journal_buffer" in out


def test_nothing_at_all(tmp_path: Path, capsys: Capture) -> None:
    """Neither stalls nor a log: one line."""
    run = build.run_dir(tmp_path / "run", build.Events().end())
    assert "no write stalled" in refused(["hist", str(run)], capsys)


def test_colours_only_where_they_are_wanted(tmp_path: Path) -> None:
    """A terminal has colours, NO_COLOR disables them, the text stays the same."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    for command in ("hist", "heatmap"):
        bright = on_a_terminal(command, run)
        plain = on_a_terminal(command, run, NO_COLOR="1")
        assert COLOUR.search(bright) and not COLOUR.search(plain)
        assert SGR.sub("", bright) == SGR.sub("", plain)


def test_a_terminal_obeys_no_name(tmp_path: Path) -> None:
    """Escapes and markup in names are printed as text."""
    name = "run\x1b]0;owned\x07[bold red]:skull:\n\u202e"
    run = build.run_dir(tmp_path / name, build.cascade())
    for argv in (["hist"], ["heatmap"], ["hist", "--what-if", "device_io=0"]):
        out = SGR.sub("", on_a_terminal(argv[0], run, *argv[1:]))
        assert "\x1b" not in out and "\x07" not in out and "\u202e" not in out
        assert r"run\x1b]0;owned\x07[bold red]:skull:\n\u202e" in out


@pytest.mark.parametrize("command", ["hist", "heatmap"])
def test_pictures(tmp_path: Path, command: str, capsys: Capture) -> None:
    """SVG is XML with readable text and no scripts; rendering is deterministic."""
    run = build.run_dir(tmp_path / "$x$<script>&", build.cascade())
    (run / "writer.hlog").write_text(HEADER + interval(*[10**6] * 50, 9 * 10**8))
    svg, png = tmp_path / "a.svg", tmp_path / "a.PNG"
    for target in (svg, png):
        assert main([command, str(run), "-o", str(target)]) == 0
        before = target.read_bytes()
        assert main([command, str(run), "-o", str(target)]) == 0
        assert target.read_bytes() == before
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    tree = ElementTree.fromstring(svg.read_bytes())
    texts = "".join(tree.itertext())
    assert "$x$<script>&: 1 stalled writes" in texts
    assert "B journal_buffer (1)" in texts and "1 s" in texts
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert not tags & {"script", "foreignObject", "a"}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", ["hist", "heatmap"])
@pytest.mark.parametrize("name", ["a.gif", "a", "gone/a.svg"])
def test_pictures_that_cannot_be(
    tmp_path: Path, command: str, name: str, capsys: Capture
) -> None:
    """One line, no file."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    line = refused([command, str(run), "-o", str(tmp_path / name)], capsys)
    assert name in line
    assert not (tmp_path / name).exists()
