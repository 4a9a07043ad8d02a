# SPDX-License-Identifier: GPL-2.0-only
"""This test will plant links where a guest can, and have the host end its run.

A guest writes to shared folders of the host as a user of the host does; its links lead
where the host's would.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from driver import losses, runs
from driver.commands import compare
from machine import accel, qemu
from recorder import cli
from recorder.run_folder import RunFolder
from writestall_base.errors import UserError

MINE = "this is not yours\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder of the reader's with a file in it, outside the shared one."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("file", "machine.json", "console.log"):
        (folder / name).write_text(MINE)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that its guest has just left, and the machine's files beside it."""
    run = tmp_path / "out/run"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text('{"format": 1}')
    runs.aside(run).mkdir()
    for name in ("machine.json", "console.log"):
        (runs.aside(run) / name).write_text('{"status": 0}')
    return run


def _untouched(mine: Path) -> None:
    assert {path.name: path.read_text() for path in mine.iterdir()} == dict.fromkeys(
        ("file", "machine.json", "console.log"), MINE
    )


def test_a_run_gets_its_verdict(run: Path) -> None:
    runs.end(run)
    recorded = json.loads((run / "manifest.json").read_text())
    assert recorded == {"format": 1, "machine": {"status": 0}}
    assert (run.parent / "latest").resolve() == run
    assert not runs.aside(run).exists()


@pytest.mark.parametrize(
    "name", ["manifest.json", "manifest.json.part", "machine.json", "report.txt"]
)
def test_no_file_of_a_run_leads_elsewhere(name: str, run: Path, mine: Path) -> None:
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(mine / "file")
    with pytest.raises(UserError, match="a symbolic link, not a regular file"):
        runs.end(run)
    _untouched(mine)


def test_neither_folder_leads_elsewhere(run: Path, mine: Path) -> None:
    for folder in (run, runs.aside(run)):
        kept = folder.rename(folder.with_name("kept"))
        folder.symlink_to(mine)
        with pytest.raises(UserError, match="a symbolic link, made by the guest"):
            runs.end(run)
        _untouched(mine)
        folder.unlink()
        kept.rename(folder)


def test_a_comparison_is_not_resumed_over_a_link(
    tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder was shared with all its machines."""
    (tmp_path / "crash").symlink_to(mine)
    with pytest.raises(UserError, match="a symbolic link, not a regular file"):
        losses.prepare(tmp_path, (), losses.Asked(1, 1))
    _untouched(mine)
    (tmp_path / "host.json").symlink_to(mine / "file")
    monkeypatch.setattr(accel, "remembered", lambda _: None)
    monkeypatch.setattr(qemu, "version", lambda _: "7")
    compare._note_host(tmp_path, _Settings())  # type: ignore[arg-type]
    _untouched(mine)
    assert json.loads((tmp_path / "host.json").read_text()) == {"qemu": "7"}


class _Settings:
    accel = "auto"


def test_an_answer_of_record_is_not_written_through(
    tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / cli.NAME).symlink_to(mine / "file")

    class Done:
        returncode, stdout = 0, "recorded\n"

    monkeypatch.setattr(subprocess, "run", lambda *_, **__: Done)
    folder = RunFolder(tmp_path, os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))
    assert cli.answer(folder, "python3") == ("recorded", True)
    _untouched(mine)
    assert (tmp_path / cli.NAME).read_text() == "recorded\n"
