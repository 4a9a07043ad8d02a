# SPDX-License-Identifier: GPL-2.0-only
"""This test will explain runs with more stalls than chains.json may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import replay
from forced_processes import share
from writestall.chain import answers
from writestall.chain.collect import collect
from writestall.cli.main import main
from writestall.export import chains_json

Capture = pytest.CaptureFixture[str]
FILES = ("chains.json", "summary.json", "report.html")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of about fifty stalls."""
    return replay.make(tmp_path / "run", 500)


def answer(run: Path) -> dict[str, Any]:
    """The content of chains.json."""
    found: dict[str, Any] = json.loads((run / "chains.json").read_text())
    return found


def test_the_slowest_are_kept_and_the_others_counted(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The same chains in the same order, and all are counted in the summary."""
    assert main(["explain", str(run)]) == 0
    whole, expected = answer(run), capsys.readouterr().out
    assert "left_out" not in whole
    monkeypatch.setattr(chains_json, "MOST_CHAINS", 7)
    assert main(["explain", str(run)]) == 0
    assert capsys.readouterr().out == expected
    short = answer(run)
    assert short["chains"] == whole["chains"][:7]
    assert short["left_out"] == len(whole["chains"]) - 7


def test_processes_share_what_is_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The same file, even if some of them keep nothing, and the same page."""
    monkeypatch.setattr(chains_json, "MOST_CHAINS", 7)
    files = []
    for processes in (1, 2, 3):
        share(monkeypatch, processes)
        assert main(["explain", str(run), "--report"]) == 0
        files.append([(run / name).read_bytes() for name in FILES])
    assert files[0] == files[1] == files[2]
    assert len(answer(run)["chains"]) == 7


def test_a_page_computes_nothing_twice(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """All chains are computed once, for the answer and the page."""
    passes = []

    def counted(*given: Any) -> Any:
        passes.append(given)
        return collect(*given)

    monkeypatch.setattr(answers, "collect", counted)
    assert main(["explain", str(run), "--report"]) == 0
    assert len(passes) == 1


def test_those_left_out_are_still_counted(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """By their number, as chains too."""
    monkeypatch.setattr(chains_json, "MOST_CHAINS", 7)
    assert main(["explain", str(run), "--write", "30", "--json"]) == 0
    (chain,) = json.loads(capsys.readouterr().out)["chains"]
    assert chain["event"] not in {row["event"] for row in answer(run)["chains"]}
    assert sum(part["dur_ns"] for part in chain["parts"]) == chain["dur_ns"]


def test_one_command_leaves_what_two_leave(run: Path, capsys: Capture) -> None:
    """`explain --report`: the same text, and the same files."""
    main(["explain", str(run)])
    expected = capsys.readouterr().out
    main(["report", str(run)])
    files = [(run / name).read_bytes() for name in FILES]
    for name in FILES:
        (run / name).unlink()
    capsys.readouterr()
    assert main(["explain", str(run), "--report"]) == 0
    assert capsys.readouterr().out == expected
    assert [(run / name).read_bytes() for name in FILES] == files


def test_a_page_says_why_there_is_no_answer(run: Path, capsys: Capture) -> None:
    """Also if it was requested in addition to the answer."""
    (run / "events" / f"{replay.ENGINE}.jsonl").write_text("nothing\n")
    assert main(["explain", str(run), "--report"]) == 2
    assert "no event could be read" in capsys.readouterr().err
    assert "no event could be read" in (run / "report.html").read_text()
