# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain the run that comes with the program."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from support import PROJECT
from writestall.cli import demo
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]


def test_the_sample_is_explained_and_its_page_written(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", "-o", str(folder), "--no-browser"]) == 0
    shown = capsys.readouterr().out
    assert "waiting for vdb through jbd2's commit" in shown
    assert "inode_lock" in shown and "held by latwriter/" in shown
    assert f"page: {folder / 'report.html'}" in shown
    assert "</html>" in (folder / "report.html").read_text()


def test_the_sample_s_answer_agrees_with_the_injector_s_record(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = demo.copied(tmp_path / "demo")
    assert main(["check", str(folder), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["root_right_share"] == verdict["holder_right_share"] == 1


def test_the_page_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 0
    assert opened == [(tmp_path / "demo/report.html").as_uri()]


def test_a_folder_that_is_there_is_kept(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine").write_text("mine")
    for folder in (tmp_path, tmp_path / "mine" / "below"):
        assert main(["demo", "-o", str(folder), "--no-browser"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert str(folder) in line and "name" in line
    assert (tmp_path / "mine").read_text() == "mine"


def test_git_ignores_the_folder() -> None:
    assert f"{demo.FOLDER}/" in (PROJECT / ".gitignore").read_text().splitlines()
