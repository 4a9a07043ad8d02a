# SPDX-License-Identifier: GPL-2.0-only
"""This test will check heat maps of writes and stalls by time and latency."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import build
from golden_runs import NAMES, unpacked
from hlog_text import interval
from refusals import refused
from writestall.chain import answers
from writestall.cli.main import main
from writestall.common.scales import S, bucket_of
from writestall.events import run_directory
from writestall.pictures import time_grid

Capture = pytest.CaptureFixture[str]
START = f"#[latwriter: ns; start is CLOCK_MONOTONIC {build.START_NS} ns]\n"


def found(run: Path, columns: int) -> time_grid.HeatMap:
    """A run's map."""
    answer = answers.answer(run_directory.open_run(run), None)
    return time_grid.heat_map(answer, time_grid.grid_of(answer, columns))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", [240, 7])
def test_recorded_runs_are_placed_whole(
    name: str, columns: int, tmp_path: Path
) -> None:
    """Every write and stall has its cell; a stall is in its second."""
    run = unpacked(name, tmp_path)
    assert main(["explain", str(run)]) == 0
    totals = json.loads((run / "summary.json").read_text())
    made = found(run, columns)
    grid = made.grid
    assert grid.columns <= columns
    assert sum(cell.writes for cell in made.cells.values()) == totals["writes"]
    counts = [sum(cell.stalled.values()) for cell in made.cells.values()]
    assert sum(counts) == totals["stalls"]
    for chain in json.loads((run / "chains.json").read_text())["chains"]:
        column = (chain["t_ns"] - grid.start_ns) // (grid.column_s * S)
        cell = made.cells[column, bucket_of(chain["dur_ns"])]
        assert cell.stalled
        # The client measured that write, too, in this cell or just above its edge.
        assert cell.writes or made.cells[column, bucket_of(chain["dur_ns"]) + 1].writes


def two_stalls(path: Path) -> Path:
    """A run of ten seconds with a stall in its third and eighth."""
    events = build.Events()
    for at_ms in (2100, 7100):
        events.block(300, at_ms, 400, "page_lock", (77, "kworker/u8:3"), "unlocks")
        events.write(300, at_ms, 400, 400)
    run = build.run_dir(path, events.end())
    lines = [interval(*[10**6] * 20).split(",", 1)[1] for _ in range(10)]
    log = "".join(f"{second}.000,{line}" for second, line in enumerate(lines))
    (run / "writer.hlog").write_text(START + log)
    return run


def test_the_map(tmp_path: Path, capsys: Capture) -> None:
    """Letters above their seconds, shades below, and a legend."""
    run = two_stalls(tmp_path / "run")
    assert main(["heatmap", str(run)]) == 0
    out = capsys.readouterr().out
    rows = {line[:7].strip(): line[9:] for line in out.splitlines() if line[8:9] == "|"}
    top = rows["500 ms"]
    assert [at // 3 for at, letter in enumerate(top) if letter == "P"] == [2, 7]
    assert rows["2 ms"] == "\u2592" * 30
    assert "P page_lock (2)" in out and "\x1b" not in out
    assert "0 s" in out and "5 s" in out


def test_a_terminal_without_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Shades are ASCII if nothing else can be printed."""
    monkeypatch.setattr("writestall.pictures.terminal._is_utf8", lambda: False)
    run = two_stalls(tmp_path / "run")
    for command in ("heatmap", "hist"):
        assert main([command, str(run)]) == 0
        out = capsys.readouterr().out
        assert out.isascii() and ("::" in out or "##" in out)


@pytest.mark.parametrize("columns", ["20", "60", "200"])
def test_no_line_is_wider_than_the_terminal(
    tmp_path: Path, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The map fits into 20 columns or more."""
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["heatmap", str(two_stalls(tmp_path / "run"))]) == 0
    rows = [ln for ln in capsys.readouterr().out.splitlines() if ln[8:9] in ("|", "+")]
    assert rows and max(map(len, rows)) <= int(columns)


def test_seconds_come_from_the_log_not_by_guess(tmp_path: Path) -> None:
    """Columns start where the writer started, and are whole seconds."""
    grid = found(two_stalls(tmp_path / "run"), 240).grid
    assert (grid.start_ns, grid.column_s, grid.columns) == (build.START_NS, 1, 10)
    grid = found(two_stalls(tmp_path / "again"), 4).grid
    assert (grid.column_s, grid.columns) == (5, 2)


def test_nothing_stalled(tmp_path: Path, capsys: Capture) -> None:
    """One line."""
    run = build.run_dir(tmp_path / "run", build.Events().end())
    assert "nothing to show" in refused(["heatmap", str(run)], capsys)
