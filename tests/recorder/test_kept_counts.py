# SPDX-License-Identifier: GPL-2.0-only
"""test_kept_counts: record says how many calls it kept, lost and left out, and keeps
none where the kernel cannot number their files."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from recorder import cli, targets


def test_the_counts_of_all_events_are_summed(tmp_path: Path) -> None:
    counts = '"count":%d,"lost":%d,"left_out":%d,"wakes":%d'
    line = f'{{"ev":"calls","t_ns":5,{counts},"rows":"eJ"}}\n'
    other = '{"ev":"file","t_ns":5,"number":1}\n'
    (tmp_path / "events").mkdir()
    text = line % (2048, 0, 3, 5) + other + line % (6, 7, 0, 0)
    (tmp_path / cli.EVENTS).write_text(text)
    assert cli.kept_calls(tmp_path) == (
        "profile: 2049 calls kept, 7 lost, 3 of kinds that a replay does not make"
    )


@pytest.mark.parametrize(
    ("release", "kept"),
    [("5.10.0-30-amd64", False), ("5.12.0", False), ("5.13.0", True), ("7.2.1", True)],
)
def test_an_old_kernel_keeps_no_calls(
    monkeypatch: pytest.MonkeyPatch, release: str, kept: bool
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release=release))
    chosen = dict.fromkeys(("pid", "comm", "device", "path"))
    options = argparse.Namespace(floor_ns=1000, stall_ns=1000, profile=True, **chosen)
    assert (targets.filters(options).calls_mib is not None) == kept


def test_the_launcher_gets_what_it_knows_of_the_options() -> None:
    chosen = {"device": None, "path": None, "comm": "java", "module": None, "pid": None}
    options = argparse.Namespace(floor_ns=1000, stall_ns=1000, profile=False, **chosen)
    words = targets.command(options, "core", 4711)
    assert words[1:4] == ["--engine", "core", "stalled_writes"]
    assert words[4:8] == ["--floor-us", "1", "--stall-us", "1"]
    assert words[(at := words.index("--comm")) : at + 2] == ["--comm", "java"]
