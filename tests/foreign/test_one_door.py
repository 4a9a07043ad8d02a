# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that foreign/files.py alone opens files of processes."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import PROJECT

TRACE = PROJECT / "trace"
DOOR = TRACE / "foreign/files.py"
# /proc/ and a number, or what stands for one; /proc/self is the reader's own.
OF_A_PROCESS = re.compile(r"\bproc/?(?:[0-9*\[]|\0)|map_files|root/tmp/")
# Values in code that are known to be /proc.
IS_PROC = re.compile(r"\b(?:self\._)?proc$|\bPROC$")


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """All strings but docstrings; what is put into one is NUL, or `proc` for /proc."""
    documents = {id(row.value) for row in ast.walk(tree) if isinstance(row, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (
                str(part.value)
                if isinstance(part, ast.Constant)
                else "proc" * bool(IS_PROC.search(ast.unparse(part.value))) or "\0"
                for part in node.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and id(node) not in documents:
            yield node.lineno, str(node.value)


def _joined(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Paths that are made with `/` of a /proc and something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = ast.unparse(node.left), ast.unparse(node.right)
            if IS_PROC.search(left) and right.startswith(("str(", "f'", "pid")):
                yield node.lineno, f"{left} / {right}"


def _opened(source: str) -> list[str]:
    tree = ast.parse(source)
    texts = (row for row in _texts(tree) if OF_A_PROCESS.search(row[1]))
    return [f"{line}: {text!r}" for line, text in (*texts, *_joined(tree))]


# What it does not open: it names a folder to the door, or says what is there.
MAY_NAME = {
    "recorder/tasks.py": 1,  # files.entries(f"{files.PROC}/{one}/task")
    "watcher/tasks_asleep.py": 2,  # files.raw() and files.entries() by whole paths
}


def test_no_other_module_names_a_file_of_a_process() -> None:
    for path in sorted(TRACE.rglob("*.py")):
        if path != DOOR:
            name = str(path.relative_to(TRACE))
            found = _opened(path.read_text())
            assert len(found) == MAY_NAME.get(name, 0), (name, found)


@pytest.mark.parametrize(
    "source",
    [
        'open(f"/proc/{pid}/comm")',
        'text(root / f"proc/{pid}/exe")',
        'Path("/proc").glob("*"), Path("/proc/1/environ")',
        'os.open(f"{self._proc}/{pid}/stat", 0)',
        'proc / str(pid) / "maps"',
        'glob("/proc/[0-9]*/comm")',
        'home / "map_files"',
    ],
)
def test_the_check_sees_one(source: str) -> None:
    assert len(_opened(source)) == 1
    assert not _opened('"/proc/self/mounts", root / "proc/sys/vm"')


# Prints whoever but the door opens a file of a process, by Python's audit events.
SPY = """
import os, re, sys, time
door, folder = sys.argv[1:]
def hear(event, given):
    if event in ("open", "os.scandir", "os.listdir") and given:
        if re.match(r"/proc/[0-9]+/", os.fsdecode(given[0]) if isinstance(
            given[0], str | bytes | os.PathLike) else ""):
            frame = sys._getframe(1)
            while frame and "/trace/" not in frame.f_code.co_filename:
                frame = frame.f_back
            place = frame.f_code.co_filename if frame else "?"
            print("door" if place == door else f"{place}: {given[0]}")
from pathlib import Path
from launcher.user_symbols import UserSymbols
from recorder.tasks import Tasks, family, of_name
from watcher.tasks_asleep import Chosen
from watcher.own import Costs
from watcher.tasks_asleep import TasksAsleep
sys.addaudithook(hear)
pid = os.getpid()
(Path(folder) / "events").mkdir()
tasks = Tasks(Path(folder), [pid])
tasks.start(), tasks.end()
UserSymbols(10).stack(pid, [id(None), 4096])
family(pid), of_name("none"), list(Costs().now(pid))
Chosen(pid=1, comm="none")(os.getppid(), "x", None)
TasksAsleep(lambda seen: None, lambda *_: True, 0).look(time.monotonic_ns())
"""


def test_no_other_module_opens_one(tmp_path: Path) -> None:
    """That which makes its path in a way that the text does not show."""
    folders = ("base", "trace", "repro", "analysis")
    done = subprocess.run(
        [sys.executable, "-c", SPY, str(DOOR), str(tmp_path)],
        env=os.environ
        | {"PYTHONPATH": ":".join(str(PROJECT / name) for name in folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    opened = done.stdout.splitlines()
    assert opened.count("door") > 20
    assert set(opened) == {"door"}
