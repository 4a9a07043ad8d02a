# SPDX-License-Identifier: GPL-2.0-only
"""This test will ask the lab to replay a recording, and look at what it is to run: the
recorded calls where they were kept and nothing else is named."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from driver import own_command, recorded, runs
from driver.commands import lab
from driver.runs import Request

WINDOW = {"start_ns": 5 * 10**9, "end_ns": 19_500_000_000}
KEPT = {"recorded": {"profile": True}, "window": WINDOW}


def asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, manifest: Any, *words: str
) -> Request:
    """The request that a command line makes."""
    run = folder / "run"
    run.mkdir()
    (run / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(runs, "checked", lambda request: request)
    parser = argparse.ArgumentParser()
    lab.arguments(parser)
    return own_command.read(parser.parse_args(["--from", str(run), *words]))


def test_recorded_calls_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked(tmp_path, monkeypatch, KEPT)
    assert request.makes_calls and request.duration_s == 15
    assert any("$PROGRAMS/replay" in word for word in request.command)
    assert sum("--prepare" in word for word in request.command) == 2


@pytest.mark.parametrize("words", [("gc-log",), ("--command", "true")])
def test_what_is_named_runs_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    request = asked(tmp_path, monkeypatch, KEPT, *words)
    assert not request.makes_calls
    assert not any("replay" in word for word in request.command)


@pytest.mark.parametrize(
    "manifest",
    [
        {"recorded": {"profile": False}, "window": WINDOW},
        {"recorded": {}, "window": WINDOW},
        {"recorded": {"profile": True}, "window": None},
        [],
    ],
)
def test_a_recording_without_calls_has_the_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: Any
) -> None:
    request = asked(tmp_path, monkeypatch, manifest)
    assert not request.makes_calls and not request.command
    assert request.scenario == lab.DEFAULT


@pytest.mark.parametrize(("calls", "known"), [(b"", False), (b"\0\0\1\0", True)])
def test_a_recording_of_no_call_is_no_load(
    tmp_path: Path, calls: bytes, known: bool
) -> None:
    path = tmp_path / recorded.CALLS
    path.write_bytes(b"wscalls1\5\0\0\0" + (calls or bytes(4)) + bytes(24))
    assert recorded.has_calls(path) == known
