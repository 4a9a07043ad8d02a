# SPDX-License-Identifier: GPL-2.0-only
"""test_lab: run the lab with every engine, and check the result; on every kernel on
demand. `make test` runs it on the newest in test_scenarios.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab_runs import Lab, analysed, make_lab
from support import DEFAULT, KERNELS, ON_DEMAND, PROJECT

AWAKE_MS = "250"


@pytest.fixture(scope="module", params=KERNELS if ON_DEMAND else [DEFAULT])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Lab:
    """The default scenario under both engines at once."""
    out = tmp_path_factory.mktemp("out")
    return make_lab(out, KERNEL=request.param, ENGINE="both")


def test_it_ends_well_and_prints_the_answer_and_the_report(both: Lab) -> None:
    assert both.done.returncode == 0, both.done.stderr[-3000:]
    report = (both.run / "report.txt").read_text().strip()
    assert "vdb through jbd2" in report.splitlines()[0]
    assert both.done.stdout.strip().startswith(report)
    assert f"report: {both.run.resolve()}/report.txt" in both.done.stdout
    assert f"page:   {both.run.resolve()}/report.html" in both.done.stdout
    assert "vdb through jbd2" in (both.run / "report.html").read_text()


def test_the_stall_is_real(both: Lab) -> None:
    """Writes of 0.5 s and more, as measured by the client."""
    slow = [row for row in both.lines("writer.jsonl") if row["ev"] == "client_write"]
    assert len([row for row in slow if row["dur_ns"] >= 500_000_000]) >= 3


def test_nothing_was_delayed_but_jbd2(both: Lab) -> None:
    *bios, end = both.lines("truth.jsonl")
    assert bios
    assert {bio["comm"] for bio in bios} == {"jbd2/vdb-8"}
    assert end["lost"] == 0


def test_the_chain_ends_at_jbd2_and_the_disk(both: Lab) -> None:
    summary = both.json("summary.json")
    assert summary["share_explained"] >= 0.95
    assert summary["lost_events"] == 0
    roots = summary["stall_ns_by_root"]
    assert max(roots, key=roots.__getitem__) == "vdb slow for jbd2"


def test_the_explainer_agrees_with_the_injected_truth(both: Lab) -> None:
    assert analysed("check", both.run).returncode == 0
    assert analysed("expect", both.run).returncode == 0


def test_the_engines_agree(both: Lab) -> None:
    """Same stalled writes, durations within 1 ms or 1 %.

    Only the client's own time may be longer: the writer of an emulated guest is kept
    off its CPU for longer than its sleeps explain.
    """
    compared = analysed("compare-engines", both.run, "--awake-ms", AWAKE_MS)
    assert compared.returncode == 0, compared.stdout


def test_every_event_keeps_the_contract(both: Lab) -> None:
    """docs/events.schema.json, compared with the output of both engines."""
    streams = sorted(str(path) for path in (both.run / "events").glob("*.jsonl"))
    assert len(streams) == 2
    checker = str(PROJECT / "tests/scripts/check-schema.py")
    done = subprocess.run(
        [sys.executable, checker, *streams], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_each_engine_alone_gives_the_answer(both: Lab) -> None:
    for engine in ("stap", "core"):
        done = analysed("explain", both.run, "--engine", engine)
        assert "through jbd2's commit" in done.stdout.splitlines()[0], done.stdout


def test_the_manifest_says_what_ran(both: Lab) -> None:
    manifest = both.json("manifest.json")
    assert manifest["status"] == "complete"
    assert int(manifest["machine"]["qemu"].split(".")[0]) >= 10
    assert manifest["machine"]["outcome"] == "ended"
    assert {row["engine"] for row in manifest["tracers"]} == {"stap", "core"}


def test_too_little_space_is_said_before_anything_is_built(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    script = (
        f"mount -t tmpfs -o size=16M tmpfs {tmp_path} && cd {PROJECT} &&"
        f" WRITESTALL_CACHE={tmp_path} exec ./writestall lab"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "too little disk space" in done.stderr
    assert "WRITESTALL_CACHE" in done.stderr
