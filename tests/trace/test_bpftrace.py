# SPDX-License-Identifier: GPL-2.0-only
"""This test will stop the launcher of bpftrace in order, or have it report that it
could not, whatever bpftrace does: a stub simulates cases that cannot be caused on
demand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from launcher import bpftrace
from launcher.errors import TraceError
from support import PROJECT

# Prints the rows of an armed bpftrace, then follows its script: the answers to SIGUSR1
# and SIGINT, in turn, each `end`, `exit`, both or nothing.
STAND_IN = """#!{python}
import json, os, signal, sys

def row(type, **fields):
    os.write(1, json.dumps({{"type": type}} | fields).encode() + b"\\n")

def answer(number, frame):
    orders = answers[signal.Signals(number).name]
    order = orders.pop(0) if orders else ""
    if "end" in order:
        row("value", data={{"ev": "end", "events": 0}})
    if "exit" in order:
        os._exit(0)

answers = {answers}
if "--version" in sys.argv:
    print("bpftrace v0.27.0")
    sys.exit()
for name in answers:
    signal.signal(getattr(signal, name), answer)
row("attached_probes", data={{"probes": 4}})
row("value", data={{"ev": "limits", "floor_ns": 1000, "stall_ns": 1000}})
{then}
while True:
    signal.pause()
"""

# The launcher with its timeout in tenths of a second, as root or not.
LAUNCHER = """
import os, sys
from launcher import bpftrace, cli
shorter = lambda steps: tuple((number, 0.2) for number, _ in steps)
for name in ("ASKING", "ENDING", "KILLING"):
    setattr(bpftrace, name, shorter(getattr(bpftrace, name)))
os.geteuid = lambda: 0
bpftrace.check = lambda options: None  # the host's kernel
sys.exit(cli.main(["--engine", "bpftrace", *sys.argv[1:]]))
"""


@dataclass(frozen=True)
class Trace:
    """A running launcher, and the file of its events."""

    process: subprocess.Popen[str]
    output: Path

    def until_armed(self) -> None:
        while not (self.output.exists() and self.output.read_bytes().count(b"\n")):
            assert self.process.poll() is None

    def stopped(self) -> tuple[int, list[str], str]:
        """Stop it; return status, the kinds of its events, and messages."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=30)
        lines = self.output.read_text().splitlines()
        return self.process.returncode, [json.loads(x)["ev"] for x in lines], said


def start(folder: Path, answers: dict[str, list[str]], then: str = "") -> Trace:
    stand_in = folder / "bpftrace"
    text = STAND_IN.format(python=sys.executable, answers=answers, then=then)
    stand_in.write_text(text)
    stand_in.chmod(0o755)
    output = folder / "events.jsonl"
    command = [sys.executable, "-c", LAUNCHER]
    process = subprocess.Popen(
        [*command, "stalled_writes", "--output", str(output)],
        env=os.environ
        | {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": f"{PROJECT}/base:{PROJECT}/trace",
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    return Trace(process, output)


@pytest.mark.parametrize(
    "answers",
    [
        {"SIGUSR1": ["end"], "SIGINT": ["exit"]},
        {"SIGUSR1": ["end"], "SIGINT": ["end exit"]},  # like bpftrace
        {"SIGUSR1": ["end"], "SIGINT": []},  # it is killed, but nothing is missing
        {"SIGUSR1": ["", "end"], "SIGINT": ["exit"]},
        {"SIGUSR1": [], "SIGINT": ["end exit"]},
    ],
    ids=["at once", "twice", "never leaves", "asked again", "told to end"],
)
def test_it_ends_in_order(answers: dict[str, list[str]], tmp_path: Path) -> None:
    trace = start(tmp_path, answers)
    trace.until_armed()
    status, events, said = trace.stopped()
    assert (status, events) == (0, ["begin", "end"]), said


@pytest.mark.parametrize(
    "answers",
    [{"SIGUSR1": [], "SIGINT": []}, {"SIGUSR1": ["exit"]}],
    ids=["deaf", "dies"],
)
def test_an_end_that_is_missing_is_said(
    answers: dict[str, list[str]], tmp_path: Path
) -> None:
    trace = start(tmp_path, answers)
    trace.until_armed()
    status, events, said = trace.stopped()
    assert (status, events) == (1, ["begin"])
    assert "died: its output is cut off" in said.splitlines()[-1]


def test_a_mistake_of_its_own_leaves_nothing_running(tmp_path: Path) -> None:
    then = 'row("value", data={"ev": "no such event"})'
    trace = start(tmp_path, {"SIGUSR1": [], "SIGINT": []}, then)
    _, said = trace.process.communicate(timeout=30)
    assert trace.process.returncode == 1
    assert "KeyError" in said


@pytest.mark.parametrize(
    ("script", "release", "refused"),
    [
        ("page_locks", "5.17.9", True),
        ("page_locks", "5.18", False),
        ("stalled_writes", "5.10.0-32-amd64", True),
        ("stalled_writes", "5.18.19", True),
        ("stalled_writes", "5.19", False),
        ("stalled_writes", "6.1.0-50-amd64", False),
        ("slow_writes", "5.10.0-32-amd64", True),
        ("slow_writes", "5.17.1", False),
    ],
)
def test_a_script_is_refused_where_it_would_not_serve(
    script: str, release: str, refused: bool
) -> None:
    try:
        bpftrace.check_kernel(script, release)
    except TraceError as error:
        assert refused
        assert str(error).endswith(f"this is {release}; use --engine stap")
    else:
        assert not refused
