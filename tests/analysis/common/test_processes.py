# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the answers of several processes with those of one."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

import build
import replay
from forced_processes import share
from streamed import contents
from writestall.cli.main import main
from writestall.common import workers
from writestall.events.stream import read_stream
from writestall.export import chains_json

Capture = pytest.CaptureFixture[str]
BROKEN = [b"\n", b"garbage\n", b'{"ev":"block","t_ns":1}\n']


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of about three hundred stalls."""
    return replay.make(tmp_path_factory.mktemp("long") / "run", 3000)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_file_read_in_pieces(
    shuffled: bool, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Including broken, repeated and unordered lines."""
    chance = random.Random(20261122)
    content = (run / "events" / f"{replay.ENGINE}.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    for _ in range(60):
        line = chance.choice([*BROKEN, chance.choice(lines)])
        lines.insert(chance.randrange(len(lines)), line)
    if shuffled:
        chance.shuffle(lines)
    path = tmp_path / "stap.jsonl"
    path.write_bytes(b"".join(lines))
    whole = contents(read_stream(path))
    assert whole[-1]
    for processes in (2, 3):
        share(monkeypatch, processes)
        assert contents(read_stream(path)) == whole


def test_a_file_of_fewer_lines_than_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some processes have nothing to read."""
    run = build.run_dir(tmp_path / "run", build.Events().end())
    path = run / "events" / "stap.jsonl"
    whole = contents(read_stream(path))
    share(monkeypatch, 4)
    assert contents(read_stream(path)) == whole


@pytest.mark.parametrize(
    ("command", "left"),
    [
        (["explain", "--top", "5"], "chains.json"),
        (["report"], "report.html"),
        (["check", "--json"], None),
    ],
)
def test_commands_answer_the_same(
    command: list[str],
    left: str | None,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    """The printed text and the files in the run directory."""
    answers = []
    for processes in (1, 2, 3):
        share(monkeypatch, processes)
        main([*command, str(run)])
        answers.append((capsys.readouterr().out, left and (run / left).read_bytes()))
    assert answers[0] == answers[1] == answers[2]
    assert not list(run.glob(".*"))


def test_one_that_is_killed(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The command exits with one line that says so, and leaves nothing behind."""
    before = os.getpid()

    def killed(*_: object) -> None:
        if os.getpid() != before:
            os.kill(os.getpid(), signal.SIGKILL)

    share(monkeypatch, 2)
    monkeypatch.setattr(chains_json, "_chain", killed)
    assert main(["explain", str(run)]) == 2
    assert "was killed: out of memory?" in capsys.readouterr().err
    assert not list(run.glob(".*"))


def test_answers_are_in_order() -> None:
    """In the order of the parts, whichever process finished first."""
    parts = list(range(5))
    assert workers.each(lambda part: part * part, parts) == [n * n for n in parts]
