# SPDX-License-Identifier: GPL-2.0-only
"""This test will run scenarios and labs of the course in machines of aarch64, and find
what they have on x86-64: the expect table of each, and the truth that the injector
recorded; the wait that a lab is about, and the answer to its question; and the function
in which the calls of a scenario sleep."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from course_runs import judged
from driver.builds import core
from lab_runs import hold_to_the_truth, make_lab
from machine import architectures, image
from machine.architectures import AARCH64
from support import PROJECT
from writestall_base.errors import UserError


@pytest.fixture
def _aarch64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program that we start has machines of aarch64."""
    monkeypatch.setenv(architectures.CHOICE, AARCH64.name)
    try:
        image.check_foreign(AARCH64)
        core.check(AARCH64)
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.on_demand("an image of another processor, whose programs are emulated")
@pytest.mark.usefixtures("_aarch64")
@pytest.mark.parametrize("scenario", ["page-lock", "fsync-storm", "xfs-ilock"])
def test_its_chain_is_that_of_x86_64(scenario: str, tmp_path: Path) -> None:
    lab = make_lab(tmp_path, SCENARIO=scenario, ENGINE="core")
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    assert lab.json("manifest.json")["arch"] == AARCH64.name
    hold_to_the_truth(lab)


@pytest.mark.on_demand("an image of another processor, whose programs are emulated")
@pytest.mark.usefixtures("_aarch64")
@pytest.mark.parametrize("number", [1, 5])
def test_a_lab_of_the_course_is_that_of_x86_64(number: int, tmp_path: Path) -> None:
    judged(number, "", tmp_path)


@pytest.mark.on_demand("an image of another processor, whose programs are emulated")
@pytest.mark.usefixtures("_aarch64")
def test_the_drill_down_finds_the_function(tmp_path: Path) -> None:
    command = [str(PROJECT / "writestall"), "drilldown", "page-lock"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert "\nasleep " in done.stdout
    assert "\n  journal_buffer: " in done.stdout
    assert " do_get_write_access\n" in done.stdout
