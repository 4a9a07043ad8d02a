# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain recorded runs and compare the answers line by line.

tests/data/runs and scenarios (one of each): run directories as
repro/run left them, records compressed (keep_run.py keeps them). `make gold` records
the answers anew.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

import webpage
from golden_runs import HOMES, NAMES, RUNS, SCENARIOS, unpacked
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
RECORD = os.environ.get("GOLD") == "1"


@pytest.fixture(params=sorted(HOMES))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each recorded run in turn."""
    return unpacked(request.param, tmp_path)


def test_a_name_is_that_of_one_run() -> None:
    homes = (RUNS, SCENARIOS)
    often = Counter(path.name for home in homes for path in home.iterdir())
    assert set(often.values()) == {1}, often.most_common(1)


def compare(run: Path, name: str, found: str) -> None:
    """Compare text with the recorded one, or record it."""
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
    totals = json.loads(summary)
    assert not totals["stalls"] or totals["share_explained"] >= 0.98


def test_the_page_reads_as_recorded(run: Path) -> None:
    """All text, in the order of the page."""
    compare(run, "page.gold.txt", "\n".join(webpage.lines(webpage.read(run))) + "\n")


def test_the_injected_truth_agrees(run: Path, capsys: Capture) -> None:
    """Every root is right, and the chain that the scenario expects is found."""
    for engine in ("stap", "bpftrace"):
        if not (run / "events" / f"{engine}.jsonl").exists():
            continue
        assert main(["expect", str(run), "--engine", engine]) == 0
        capsys.readouterr()
        if not (run / "truth.jsonl").exists():
            assert '"inject"' not in (run / "manifest.json").read_text()
            continue
        assert main(["check", str(run), "--engine", engine, "--json"]) == 0
        row = json.loads(capsys.readouterr().out)
        assert row["root_right_share"] >= 0.99


def test_both_engines_report_the_same(capsys: Capture, tmp_path: Path) -> None:
    """Where both traced a run, they found the same stalls within 1 ms or 1 %."""
    both = [name for name in NAMES if len(list((RUNS / name).glob("events/*"))) == 2]
    assert both
    for name in both:
        path = unpacked(name, tmp_path)
        # A guest short of CPUs: the writer was preempted for 15 ms on its way out.
        assert main(["compare-engines", str(path), "--awake-ms", "20"]) == 0
        assert capsys.readouterr().out.startswith("agree: 4 stalled writes")
