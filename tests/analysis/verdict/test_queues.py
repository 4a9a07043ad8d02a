# SPDX-License-Identifier: GPL-2.0-only
"""test_queues: how a recorded disk is compared with its replay, by depth and gap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_episodes import ARMED_MS, BACK, Capture, replay

from build import MS, START_NS
from writestall.cli.main import main
from writestall.verdict.queues import NO_QUEUE

# How many at each depth and their ns, and at each gap; then a bio by itself.
GROWS = ["1:100:40000000", "2:50:40000000", "4:19:100000000"], ["0:90", "16:60"]
FLAT = ["1:100:40000000", "4:30:15000000"], ["0:30", "4096:90"]
BARRIER = ["8:100:990000000"], ["65536:500"]
SLOW = [1000 * MS, 300 * MS, 4096, 4, -17]


def run_of(folder: Path, kinds: Any, *windows: Any) -> Path:
    """A replay of a disk with these kinds of bios, and windows of its own."""
    run = replay(folder, *BACK)
    path = run / "disk-series.json"
    document = json.loads(path.read_text())
    document["disks"][0]["kinds"] += kinds
    path.write_text(json.dumps(document))
    with (run / "events/core.jsonl").open("a") as events:
        for at_ms, (depths, gaps) in windows:
            row = {"ev": "ios", "t_ns": START_NS + at_ms * MS, "dur_ns": 100 * MS}
            row |= {"dev": "254:16", "op": "write", "flags": [], "count": 9}
            row |= {"bytes": 1, "latencies": [], "depths": depths, "gaps": gaps}
            events.write(json.dumps(row) + "\n")
    return run


def kind(*windows: Any, slow: Any = (), flags: Any = ()) -> dict[str, Any]:
    found = [[number, [], *window] for number, window in enumerate(windows)]
    return {"op": "write", "flags": flags, "windows": found, "slow": slow}


def said(run: Path, capsys: Capture, status: int = 0) -> list[str]:
    assert main(["expect", str(run)]) == status
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if line.startswith("  writes")]


def test_both_disks_stand_side_by_side(tmp_path: Path, capsys: Capture) -> None:
    """Barriers, and what the replay did before it was armed, do not count; a bio by
    itself is one of its depth."""
    kinds = [kind(GROWS, slow=[SLOW]), kind(BARRIER, flags=["preflush", "fua"])]
    windows = (0, BARRIER), (ARMED_MS + 100, FLAT)
    lines = said(run_of(tmp_path / "run", kinds, *windows), capsys)
    assert lines == [
        "  writes by queue depth: 0.4 ms at 1, 0.8 ms at 2, 20 ms at 4; replayed:"
        " 0.4 ms at 1, 0.5 ms at 4",
        "  writes that are sequential: 60%, the others 8 KiB or more away at the"
        " median; replayed: 25%, the others 2 MiB or more away at the median",
        f"  writes: {NO_QUEUE}",
    ]


def test_a_disk_that_does_not_queue_has_no_warning(
    tmp_path: Path, capsys: Capture
) -> None:
    lines = said(run_of(tmp_path / "run", [kind(FLAT)]), capsys)
    assert lines[0].endswith("0.4 ms at 1, 0.5 ms at 4; replayed: unknown")
    assert not any("does not queue" in line for line in lines)


def test_an_older_recording_says_nothing(tmp_path: Path, capsys: Capture) -> None:
    old = {"op": "write", "flags": [], "windows": [[3, ["131072:7"]]], "slow": []}
    assert not said(run_of(tmp_path / "run", [old], (ARMED_MS, FLAT)), capsys)


def test_the_page_says_it_too(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", [kind(GROWS, slow=[SLOW])], (ARMED_MS, FLAT))
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    assert "<p>writes by queue depth: 0.4 ms at 1, " in page
    assert "the replayed disk does not queue" in page


@pytest.mark.parametrize(
    "window",
    [
        (["1:0:0", "x", "1:2", "1:" + "9" * 40], ["0:0", "0"]),
        ([], [f"0:{10**17}", f"1:{10**17}"]),
    ],
)
def test_what_no_tracer_prints_is_left_out(
    tmp_path: Path, capsys: Capture, window: Any
) -> None:
    run = run_of(tmp_path / "run", [kind(GROWS)], (ARMED_MS, window))
    assert said(run, capsys)[0].endswith("; replayed: unknown")


@pytest.mark.parametrize(
    "bad",
    [
        {"op": "write", "flags": 7, "windows": [], "slow": [SLOW]},
        {"op": "write", "flags": [[]], "windows": [[1, [], [], []]], "slow": []},
        {"op": "write", "flags": [], "windows": [[1, [], 7, []]], "slow": []},
        {"op": "write", "flags": [], "windows": [[1, [], [7], []]], "slow": []},
        {"op": "write", "flags": [], "windows": [7], "slow": []},
        {"op": "write", "flags": [], "windows": [], "slow": [[1, 2, 3, "4", None]]},
        {"op": "write", "flags": [], "windows": [], "slow": [[1, 2, 3, 1.5, None]]},
    ],
)
def test_a_damaged_series_is_refused(
    tmp_path: Path, capsys: Capture, bad: dict[str, Any]
) -> None:
    run = run_of(tmp_path / "run", [bad])
    assert main(["expect", str(run)]) == 2
    assert "not the series that was replayed" in capsys.readouterr().err
