# SPDX-License-Identifier: GPL-2.0-only
"""test_episodes: how much of a recorded disk came back, and where it says otherwise."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import build
from build import MS, START_NS
from made_calls import content, row
from writestall.cli.main import main
from writestall.verdict.episodes import Episode, episodes

Capture = pytest.CaptureFixture[str]
# Submission and latency of the recorded bios, in ms, since the recording began.
RECORDED = ((1000, 300), (1200, 250), (5000, 80), (5300, 20))
ARMED_MS = 700
# Bios of a replay in which all came back.
BACK = (950, 240), (1250, 290), (5100, 95)


def replay(folder: Path, *bios: tuple[float, float]) -> Path:
    """A run of 8 s that replayed RECORDED, and its own slow bios since arming."""
    events = build.Events("core")
    for at_ms, late_ms in bios:
        events.io(253, ARMED_MS + at_ms, late_ms, "jbd2/vdb-8")
    run = build.run_dir(folder, events)
    manifest = json.loads((run / "manifest.json").read_text())
    arm = {"name": "arm", "start_ns": START_NS, "dur_ns": ARMED_MS * MS}
    manifest["scenario"] = {"name": "gc-log", "replayed": "sda"}
    manifest["device"] = {"name": "vdb", "dev": "254:16", "size_bytes": 1 << 30}
    end_ns = START_NS + (ARMED_MS + 8000) * MS
    manifest |= {"steps": [arm], "window": {"start_ns": START_NS, "end_ns": end_ns}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    slow = [[at_ms * MS, late_ms * MS, 4096] for at_ms, late_ms in RECORDED]
    kind = {"op": "write", "flags": [], "windows": [], "slow": slow}
    disks = [{"dev": "8:0", "name": "sda", "kinds": [kind]}]
    (run / "disk-series.json").write_text(json.dumps({"format": 1, "disks": disks}))
    return run


def test_bios_close_to_each_other_are_one_episode() -> None:
    found = episodes((at_ms * MS, late_ms * MS) for at_ms, late_ms in RECORDED)
    assert found == [
        Episode(1000 * MS, 1450 * MS, 300 * MS),
        Episode(5000 * MS, 5080 * MS, 80 * MS),
    ]


def test_a_replay_with_all_episodes_is_as_expected(
    tmp_path: Path, capsys: Capture
) -> None:
    run = replay(tmp_path / "run", (950, 240), (1250, 290), (5100, 95), (7000, 49))
    assert main(["expect", str(run)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("as expected: 2 of 2 recorded episodes came back (100.0%, ")


def test_an_episode_of_the_replay_alone_fails(tmp_path: Path, capsys: Capture) -> None:
    run = replay(tmp_path / "run", (950, 240), (1250, 290), (5100, 95), (7000, 900))
    assert main(["expect", str(run)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAILED: 2 of 2 recorded episodes came back (66.7%, ")
    assert "of the replay alone: 7.0 to 7.9 s, up to 900 ms" in said


def test_an_episode_of_calls_from_before_the_recording_is_not_counted(
    tmp_path: Path, capsys: Capture
) -> None:
    """Half of such a call is recorded; what it does then is none of the replay's."""
    run = replay(tmp_path / "run", (5100, 95))
    calls = [row(0, 1, "fsync", 1, took_ms=1100), row(900, 2, "fsync", 1, took_ms=400)]
    (run / "recorded-calls.bin").write_bytes(content([(0, 1)], calls))
    assert main(["expect", str(run)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("as expected: 1 of 1 recorded episodes came back")
    assert "not counted, begun with the recording: 1.0 to 1.4 s, up to 300 ms" in said


def test_of_many_calls_the_first_ones_are_read(tmp_path: Path, capsys: Capture) -> None:
    run = replay(tmp_path / "run", (950, 240), (1250, 290), (5100, 95))
    path = run / "recorded-calls.bin"
    path.write_bytes(content([(0, 1)], [row(0, 1, "fsync", 1), row(9, 1, "fsync", 1)]))
    os.truncate(path, 200 << 20)
    assert main(["expect", str(run)]) == 0
    assert "2 of 2 recorded episodes came back" in capsys.readouterr().out


def test_calls_that_are_damaged_are_refused(tmp_path: Path, capsys: Capture) -> None:
    run = replay(tmp_path / "run")
    (run / "recorded-calls.bin").write_bytes(b"wscalls1")
    assert main(["expect", str(run)]) == 2
    assert "no calls of a recording" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bios", "silent"),
    [
        (((1000, 300),), 1),  # one is missing
        (((1000, 300), (5300, 40)), 1),  # too late
        (((1000, 300), (5000, 40)), 0),  # too low
        (((1000, 300), (5000, 400)), 0),  # too high
    ],
)
def test_a_replay_that_lacks_an_episode_fails(
    tmp_path: Path,
    capsys: Capture,
    bios: tuple[tuple[float, float], ...],
    silent: int,
) -> None:
    assert main(["expect", str(replay(tmp_path / "run", *bios))]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAILED: 1 of 2 recorded episodes came back (50.0%, ")
    assert "missed: 5.0 to 5.1 s, up to 80 ms" in said
    assert ("in 1 of the others the replay has no slow bio" in said) == bool(silent)


def test_a_run_without_its_series_is_refused(tmp_path: Path, capsys: Capture) -> None:
    run = replay(tmp_path / "run")
    (run / "disk-series.json").write_text("{}")
    assert main(["expect", str(run)]) == 2
    assert "not the series that was replayed" in capsys.readouterr().err
