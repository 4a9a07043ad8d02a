# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain why ps hangs on a process: a recorded run of mmap-lock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden_runs import unpacked
from writestall.cli.main import main


def test_ps_waits_for_the_thread_in_mmap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its reads are of /proc, so that only --all has them; the holder is seen."""
    run = unpacked("mmap-lock-7.2", tmp_path)
    assert main(["explain", str(run), "--all", "--json"]) == 0
    chains = json.loads(capsys.readouterr().out)["chains"]
    of_ps = [chain for chain in chains if chain["task"]["comm"] == "ps"]
    assert of_ps
    for chain in of_ps:
        assert (chain["call"], chain["path"]) == ("read", "185/cmdline")
        assert chain["root"] == "vdb slow for jbd2"
        assert chain["explained_ns"] >= 0.99 * chain["dur_ns"]
        wait = chain["parts"][0]
        assert wait["path"] == ["__access_remote_vm"]
        assert (wait["holder"]["comm"], wait["link"]) == ("Thread-1 (map_a", "seen")
        longest = max(wait["parts"], key=lambda part: part["dur_ns"])
        assert longest["class"] == "journal_buffer"
        assert longest["dur_ns"] >= 0.99 * wait["dur_ns"]


def test_without_all_there_is_no_ps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = unpacked("mmap-lock-7.2", tmp_path)
    assert main(["explain", str(run)]) == 0
    said = capsys.readouterr().out
    assert "cmdline" not in said
    assert "pread64(2) lab/read" in said
