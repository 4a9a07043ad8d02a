# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the README's first answer with what explain prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support import PROJECT
from writestall.cli.main import main

RUN = PROJECT / "tests/data/runs/page-lock-7.2"
FIRST = re.compile(r"^```\n\$ make lab SCENARIO=page-lock .*\n(.*?)^```$", re.M | re.S)


def test_the_readme_shows_the_answer_to_a_recorded_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = FIRST.search((PROJECT / "README.md").read_text())
    assert found
    run = shutil.copytree(RUN, tmp_path / "run")
    assert main(["explain", str(run), "--top", "1"]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    for line in found[1].splitlines():
        assert line == "..." or line in printed, line
