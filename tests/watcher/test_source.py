# SPDX-License-Identifier: GPL-2.0-only
"""test_source: a launcher is interrupted without a traceback, and its words are fit."""

from __future__ import annotations

import argparse
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recorder import targets
from recorder.engines import ENGINES
from support import PROJECT
from watcher import source

# Stands for a module of the library and is interrupted when it is imported.
INTERRUPTED = """
import os, signal, sys
os.kill(os.getpid(), signal.SIGINT)
sys.path.remove({folder!r})
del sys.modules["argparse"]
import argparse
"""
OPTIONS = argparse.Namespace(
    module=None,
    floor_ns=10**6,
    stall_ns=10**6,
    pid=None,
    comm=None,
    device=None,
    path=None,
    profile=False,
)


LIMIT_S = 20
Run = Callable[[str], tuple[list[str], list[str]]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trace/trace", "stalled_writes"), "trace: interrupted\n"),
        (("writestall", "--version"), "writestall: interrupted\n"),
    ],
)
def test_interrupted_while_it_imports_it_says_so(
    words: tuple[str, str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "argparse.py").write_text(INTERRUPTED.format(folder=str(tmp_path)))
    program, argument = words
    done = subprocess.run(
        [sys.executable, str(PROJECT / program), argument],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a shell script as the launcher; return what it printed and what it said."""

    def made(script: str) -> tuple[list[str], list[str]]:
        launcher = tmp_path / "launcher"
        launcher.write_text(f"#!/bin/sh\n{script}\n")
        launcher.chmod(0o755)
        monkeypatch.setattr(targets, "LAUNCHER", launcher)
        said: queue.SimpleQueue[str] = queue.SimpleQueue()
        with source.running(ENGINES[0], OPTIONS, lambda _: None, said.put) as one:
            lines = [line.decode() for line in one.stop()]
        return lines, [said.get(timeout=LIMIT_S) for _ in range(script.count(">&2"))]

    return made


def test_an_interpreter_that_starts_is_not_interrupted(
    run: Run,
) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    ((line,), _) = run("exec grep SigBlk: /proc/self/status")
    assert int(line.split()[1], 16) & 1 << (signal.SIGINT - 1)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before


def test_how_to_stop_the_launcher_alone_is_left_out(run: Run) -> None:
    hint = "; stop with Ctrl-C or: kill 4711"
    _, said = run(
        f"echo 'trace: core runs x on 5.15{hint} (not seen before 6.0: y)' >&2\n"
        f"echo 'traces x on 5.15, armed by 0.1 s of CPU{hint}' >&2"
    )
    assert said == [
        "trace: core runs x on 5.15 (not seen before 6.0: y)",
        "traces x on 5.15, armed by 0.1 s of CPU",
    ]


def test_its_last_words_are_awaited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The thread that reads them may be late."""
    launcher = tmp_path / "launcher"
    launcher.write_text("#!/bin/sh\necho one >&2\necho two >&2\nexit 3\n")
    launcher.chmod(0o755)
    monkeypatch.setattr(targets, "LAUNCHER", launcher)

    def late(text: str) -> None:
        time.sleep(0.3 * (text == "one"))

    one = source.Source(ENGINES[0], OPTIONS, lambda _: None, late)
    list(one.stop())
    assert one.close() == "exit 3; it said: two"
