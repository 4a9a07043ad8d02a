# SPDX-License-Identifier: GPL-2.0-only
"""This test will prepare runs, and look at what their machines may write to."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from driver import runs
from driver.machines import Needs
from driver.settings import Settings


@pytest.mark.parametrize("scenario", ["gc-log:xfs", "mine.toml"])
def test_a_machine_may_write_to_the_folder_of_its_run_alone(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("# a scenario\n")
    settings = Settings("6.12", None, tmp_path / "out", False)
    request = runs.Request(settings, scenario, "core", "biodelay", "", Needs())
    run = settings.out / request.run_name
    inside = runs.begin(request, run)
    command = runs.run_command(inside, run, "/built", ["true"], 9)
    shares = [after for word, after in pairwise(command) if word == "--share"]
    written = [share for share in shares if not share.endswith(":ro")]
    assert [share.rpartition(":")[0] for share in written] == [str(run)]
    assert run.is_dir()
    if scenario == "mine.toml":
        folder = f"{runs.aside(run)}:{runs.ASIDE}:ro"
        assert inside.scenario == f"{runs.ASIDE}/mine.toml" and folder in shares
        assert (runs.aside(run) / "mine.toml").read_text() == "# a scenario\n"
    runs.end(run)
    assert (settings.out / "latest").resolve() == run


@pytest.mark.parametrize(
    ("status", "left"),
    [("running", "cut_off"), ("complete", "complete"), ("failed", "failed")],
)
def test_a_run_does_not_stay_running(status: str, left: str, tmp_path: Path) -> None:
    """Ctrl-C ends the machine before it has written how the run ended."""
    run = tmp_path / "run"
    runs.aside(run).mkdir()
    run.mkdir()
    manifest = run / "manifest.json"
    manifest.write_text(json.dumps({"status": status, "reason": None}))
    (runs.aside(run) / "machine.json").write_text('{"verdict": "ended"}')
    runs.end(run)
    table = json.loads(manifest.read_text())
    assert table["status"] == left
    assert (table["reason"] is None) == (status == left)
    assert table["machine"] == {"verdict": "ended"}
