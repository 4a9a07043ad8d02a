# SPDX-License-Identifier: GPL-2.0-only
"""test_call_fidelity: how near a replay's calls are to what was recorded, and where it
says that they are not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_episodes import Capture, replay

import build
from made_calls import event
from writestall.cli.main import main
from writestall.events.kept_calls import Call
from writestall.verdict.replayed_calls import REPORT, STALLS

MS, FSYNC = 1_000_000, 4
BIOS = ((950, 240), (1250, 290), (5100, 95))


def side(stalls: int, p999_ms: float) -> dict[str, int]:
    ns = round(p999_ms * MS)
    took = {"stalled_ns": stalls * 250 * MS, "p999_ns": ns, "max_ns": ns}
    return {"stalls": stalls} | took


def report(replayed: dict[str, int], made: int = 1000, failed: int = 0) -> Any:
    row = {"operation": "fsync", "calls": 1000, "made": made, "failed": failed}
    row |= {"recorded": side(10, 250.0), "replayed": replayed}
    times = {"recorded_ns": 10**10, "replayed_ns": 10**10}
    times |= {"stall_ns": 50 * MS}
    return {"calls": 1000, "made": made, "operations": [row], **times}


def run_of(folder: Path, found: Any) -> Path:
    run = replay(folder, *BIOS)
    (run / REPORT).parent.mkdir(parents=True)
    (run / REPORT).write_text(json.dumps(found))
    return run


def test_a_replay_that_is_near_enough_is_as_expected(
    tmp_path: Path, capsys: Capture
) -> None:
    run = run_of(tmp_path / "run", report(side(12, 260.0)))
    assert main(["expect", str(run)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "as expected: 5 of 5 figures of the calls came back"
    assert said[5].split() == "fsync: stalls 10.0 12.0 within 2.5 calls".split()


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (report(side(13, 250.0)), "fsync: stalls"),
        (report(side(10, 320.0)), "fsync: p99.9 ms"),
        (report(side(10, 250.0), made=900), "calls a second"),
        (report(side(10, 250.0), failed=11), "calls"),
    ],
)
def test_what_is_too_far_fails(
    tmp_path: Path, capsys: Capture, found: Any, name: str
) -> None:
    run = run_of(tmp_path / "run", found)
    assert main(["expect", str(run)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("FAILED: ")
    assert [line for line in said if f"  {name} " in line and "FAILED" in line]


def test_waits_that_the_replay_has_not_fail(tmp_path: Path, capsys: Capture) -> None:
    run = run_of(tmp_path / "run", report(side(10, 250.0)))
    root = {"the disk slow for jbd2": 300 * MS}
    stalls = [[300 * MS, {"device_io": 290 * MS, "running": 10 * MS}, root]] * 9
    (run / STALLS).write_text(json.dumps({"limit_ns": 50 * MS, "stalls": stalls}))
    assert main(["expect", str(run)]) == 1
    said = capsys.readouterr().out
    for name in ("device_io: calls", "device_io: ms", "the disk slow for jbd2: ms"):
        assert f"  {name} " in said


def second(folder: Path, stalls: int) -> Path:
    """A recording with so many fsyncs of 250 ms, and short ones, in a window of 8 s."""
    rows = [(1000 + 10 * i, 250 if i < stalls else 1) for i in range(100)]
    calls = [Call(at * MS, -1, ms * MS // 64, 7, 0, 1, FSYNC, 0) for at, ms in rows]
    run = build.run_dir(folder, build.Events("core"))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["window"] = {"start_ns": 500 * MS, "end_ns": 8500 * MS}
    (run / "manifest.json").write_text(json.dumps(manifest))
    with (run / "events/core.jsonl").open("a") as file:
        file.write(json.dumps(event(calls)) + "\n")
    return run


@pytest.mark.parametrize(("again", "stalls", "status"), [(14, 13, 0), (10, 13, 1)])
def test_a_replay_may_be_as_far_off_as_a_second_recording(
    tmp_path: Path, capsys: Capture, again: int, stalls: int, status: int
) -> None:
    run = run_of(tmp_path / "run", report(side(stalls, 250.0)))
    words = ["--again", str(second(tmp_path / "second", again))]
    assert main(["expect", str(run), *words]) == status
    said = capsys.readouterr().out.splitlines()
    [row] = [line.split() for line in said if "fsync: stalls" in line]
    limit = max(2.0, abs(again - 10.0))
    assert row[2:8] == [
        "10.0",
        f"{stalls}.0",
        f"{again}.0",
        "within",
        str(limit),
        "calls",
    ]


def test_a_second_recording_without_calls_is_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    run = run_of(tmp_path / "run", report(side(12, 260.0)))
    bare = build.run_dir(tmp_path / "second", build.Events("core"))
    assert main(["expect", str(run), "--again", str(bare)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "it has no calls: name a recording that has" in line


def test_a_second_recording_of_no_replay_is_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    run = build.run_dir(tmp_path / "run", build.Events("core"))
    words = ["--again", str(second(tmp_path / "second", 10))]
    assert main(["expect", str(run), *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "makes no recorded calls again: leave it out" in line


def test_the_page_has_both_sides(tmp_path: Path, capsys: Capture) -> None:
    run = run_of(tmp_path / "run", report(side(13, 250.0)))
    page = tmp_path / "page.html"
    assert main(["report", str(run), "-o", str(page)]) == 0
    text = page.read_text()
    assert "FAILED: 3 of 5 figures of the calls came back" in text
    [row] = re.findall(r"<tr><th.*?>fsync: stalls</th>(.*?)</tr>", text, re.DOTALL)
    cells = re.findall("<td>(.*?)</td>", row)
    assert cells == ["10.0", "13.0", "2.5", "no"]
    (run / REPORT).write_text("{}")
    assert main(["report", str(run), "-o", str(page)]) == 0
    assert "not what repro/replay reports" in page.read_text()


MANY = json.dumps(report(side(10, 250.0)) | {"operations": [{"failed": 0}] * 65})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"calls":1}', "\x00", MANY])
def test_a_damaged_report_is_refused_in_one_line(
    tmp_path: Path, capsys: Capture, text: str
) -> None:
    run = run_of(tmp_path / "run", {})
    (run / REPORT).write_text(text)
    assert main(["expect", str(run)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
