# SPDX-License-Identifier: GPL-2.0-only
"""This test will cut off a tracer's events, and find that check does not pass them."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
TRUTH = [
    build.bio_delay(0, 1000, 253, "jbd2/vdb-8"),
    {"ev": "end", "records": 1, "lost": 0},
]


@pytest.mark.parametrize(
    ("first", "last", "gap"),
    [(0, -1, "no end line: the tracer was cut off"), (1, None, "no begin line: when")],
)
def test_check_does_not_pass_a_tracer_that_was_cut_off(
    tmp_path: Path, capsys: Capture, first: int, last: int | None, gap: str
) -> None:
    """All that it saw is right; what it did not see is not known."""
    run = build.run_dir(tmp_path / "run", build.cascade(), truth=TRUTH)
    events = run / "events/stap.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[first:last]))
    assert main(["check", str(run)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAILED: ") and f"  events/stap.jsonl: {gap}" in said
    assert "root_right_share       1.0" in said
