# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain recorded runs of our own guests and compare every line.

tests/data/runs and applications: run directories as repro/run left them, events
compressed. With GOLD=1 in the environment the answers are recorded anew.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

from writestall.cli import main

Capture = pytest.CaptureFixture[str]
RUNS = Path(__file__).parents[1] / "data" / "runs"
NAMES = sorted(path.name for path in RUNS.iterdir())
# Runs whose client is no latwriter: what is told of its writes is told of others.
APPLICATIONS = RUNS.with_name("applications")
HOMES = {path.name: path for home in (RUNS, APPLICATIONS) for path in home.iterdir()}
RECORD = os.environ.get("GOLD") == "1"


def unpacked(name: str, folder: Path) -> Path:
    """A copy of a recorded run, its events unpacked."""
    path = folder / name
    shutil.copytree(HOMES[name], path)
    for packed in (path / "events").glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return path


@pytest.fixture(params=sorted(HOMES))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each recorded run in turn."""
    return unpacked(request.param, tmp_path)


def compare(run: Path, name: str, found: str) -> None:
    """Holds text against the recorded one, or records it."""
    gold = HOMES[run.name] / name
    if RECORD:
        gold.write_text(found)
    assert found == gold.read_text()


def test_answers_are_as_recorded(run: Path, capsys: Capture) -> None:
    """Text and summary, to the last digit."""
    assert main(["explain", str(run), "--top", "9"]) == 0
    compare(run, "explain.gold.txt", capsys.readouterr().out)
    summary = (run / "summary.json").read_text()
    compare(run, "summary.gold.json", summary)
    assert json.loads(summary)["share_explained"] >= 0.98


def test_the_injected_truth_agrees(run: Path, capsys: Capture) -> None:
    """Every root is right, and the run shows what its scenario promises."""
    for engine in ("stap", "bpftrace"):
        if not (run / "events" / f"{engine}.jsonl").exists():
            continue
        assert main(["check", str(run), "--engine", engine, "--json"]) == 0
        row = json.loads(capsys.readouterr().out)
        assert row["root_right_share"] >= 0.99
        assert main(["expect", str(run), "--engine", engine]) == 0
        capsys.readouterr()


def test_both_engines_tell_the_same(capsys: Capture, tmp_path: Path) -> None:
    """Where both traced one run, they saw the same stalls within 1 ms or 1 %."""
    both = [name for name in NAMES if len(list((RUNS / name).glob("events/*"))) == 2]
    assert both
    for name in both:
        path = unpacked(name, tmp_path)
        # A guest short of CPUs: the writer was preempted for 15 ms on its way out.
        assert main(["compare-engines", str(path), "--awake-ms", "20"]) == 0
        assert capsys.readouterr().out.startswith("agree: 4 stalled writes")
