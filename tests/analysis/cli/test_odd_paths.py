# SPDX-License-Identifier: GPL-2.0-only
"""test_odd_paths: a byte of a path that is no UTF-8 is printed as that byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import build
from support import PROJECT
from writestall_base.units import printable


def test_characters_that_do_nothing_are_left_alone() -> None:
    assert printable("a\u00e9") == "a\u00e9"
    assert printable("a\udcff\x1b\u202e\ud800") == r"a\xff\x1b\u202e\ud800"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("report", 0, r"r\xff/report.html"),
        ("export --to csv --engine core", 2, r"r\xff/events: no core.jsonl"),
        ("record --module", 2, r"r\xff: no such file"),
        ("record --", 2, r"r\xff': no such command"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_path_is_printed_with_its_bytes(
    tmp_path: Path, words: str, status: int, said: str, encoding: str
) -> None:
    run = build.run_dir(tmp_path / "r\udcff", build.cascade())
    command = [sys.executable, str(PROJECT / "writestall"), *words.split(), str(run)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": encoding},
    )
    (line,) = (done.stdout + done.stderr).splitlines()
    assert done.returncode == status
    assert said in line
