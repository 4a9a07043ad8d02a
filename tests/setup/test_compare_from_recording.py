# SPDX-License-Identifier: GPL-2.0-only
"""This test will ask for a comparison on a recording, and read from its plan the disk,
the calls and the command that repeats it, without a machine."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from driver import recorded, settings
from driver.commands import compare
from driver.commands.compare import Request
from driver.project import answer
from labrun.scenario import reading
from writestall.compare import planned
from writestall_base import plans
from writestall_base.errors import UserError

MS = 10**6
MANIFEST = {
    "recorded": {"profile": True},
    "window": {"start_ns": 5 * 10**9, "end_ns": 19_500_000_000},
}
# One flush of 450 ms.
SLOW = {
    "op": "flush",
    "flags": ["preflush"],
    "windows": [],
    "slow": [[MS, 450 * MS, 0]],
}
SERIES = {
    "format": 1,
    "window_ns": 100 * MS,
    "disks": [{"dev": "254:16", "name": "vdb", "kinds": [SLOW]}],
}


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    compare.arguments(parser)
    return parser.parse_args(words)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording with calls, as far as its manifest says."""
    monkeypatch.setattr(settings, "engine", lambda asked, _: asked or "stap")
    folder = tmp_path / "host"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    return folder


def asked(run: Path, *words: str) -> Request:
    out = ("--out", str(run.parent / "out"))
    return compare.read(parsed("--from", str(run), *out, *words))


def exports(*words: str) -> CompletedProcess[str]:
    """Stands for `writestall export`."""
    form, target = words[2], Path(words[4])
    target.write_bytes(b"wscalls1\0\0\0\0\1")
    if form == "disk":
        target.write_text(json.dumps(SERIES))
    return CompletedProcess(words, 0, "", "")


def made(request: Request) -> tuple[dict[str, Any], list[Path]]:
    """The plan of a request, and its scenarios."""
    folder = request.folder
    folder.mkdir(parents=True)
    assert request.recording is not None
    for _ in range(2):  # the second call is a repetition
        request.recording.keep(folder, exports)
        answer("repro/plan", "--out", str(folder), *request.planned)
    found = json.loads((folder / plans.FILE).read_text())
    return found, [folder / cell["scenario"] for cell in found["cells"]]


def test_disk_and_calls_are_the_recordings(run: Path) -> None:
    request = asked(run, "--fs", "ext4-default,xfs-default", "--rounds", "8")
    assert request.folder.name == "host-6.12-duration15"
    found, scenarios = made(request)
    assert found["profile"]["name"] == "recorded-vdb"
    assert str(run) in found["profile"]["provenance"]
    assert len(scenarios) == 24
    for path in scenarios:
        scenario, _ = reading.load(path)
        assert scenario.duration_s == 15
        (rule,), (work,) = scenario.inject, scenario.workload
        assert rule.ops == ("flush",) and rule.series
        assert f"/mnt/out/recorded/{recorded.CALLS}" in work.command  # type: ignore[union-attr]
        assert "--requests" in work.command  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "more", [(), ("--workload", "gc-log"), ("--from-device", "vdb", "--duration", "9")]
)
def test_the_command_that_repeats_it_names_the_recording(
    run: Path, more: tuple[str, ...]
) -> None:
    given = ("--fs", "ext4-default", "--rounds", "8", "--seed", "7")
    found, _ = made(asked(run, *given, *more))
    words = shlex.split(planned.command(found))[2:]
    again, wanted = (
        vars(parsed(*words)),
        vars(parsed("--from", str(run), *given, *more)),
    )
    for name in ("recorded", "recorded_device", "workload", "profile", "fs", "seed"):
        assert again[name] == wanted[name]
    assert again["duration"] == wanted["duration"] or wanted["duration"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--profile", "dying-hdd"), "--from is a disk of its own"),
        (("--load", "50"), "made at their own times"),
        (("--workload", "gc-logg"), "gc-logg"),
        (("--fs", "ext5"), "ext5"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    run: Path, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        asked(run, *words)


def test_a_recording_without_calls_needs_a_workload(run: Path) -> None:
    (run / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match="it has no calls: name a --workload"):
        asked(run)
    assert asked(run, "--workload", "gc-log").recording
    with pytest.raises(UserError, match="no such run"):
        asked(run / "missing")
    with pytest.raises(UserError, match="needs --from"):
        compare.read(parsed("--from-device", "vdb"))
