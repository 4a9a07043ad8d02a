# SPDX-License-Identifier: GPL-2.0-only
"""This test will look up each error message that the documents quote in the source."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support import PROJECT

PAGE = PROJECT / "docs/questions/errors.md"
FOLDERS = (
    *("base", "analysis/writestall", "docs/website", "lab", "vm", "repro", "trace"),
    *("kmod", "bpf/core"),
)
# The first cell of a row; a message may hold a word in backticks.
MESSAGE = re.compile(r"^\| `(?P<text>.+?)` \| ", re.MULTILINE)
HOLE = "\0"  # what differs, in a literal of the source
DIFFERS = "..."
# What the module logs, and what the compiled tracer prints: literals side by side.
C_STRING = re.compile(
    r"\b(?:pr_err|pr_warn|report|log_message|die)\((?:EXIT_\w+, )?"
    r'"((?:[^"\\]|\\.|"\s*")*)"'
)
SEAM = re.compile(r'"\s*"')
CONVERSION = re.compile(r"'?%[-0-9]*(?:ll|l|z)?[a-z]'?")
LEAST = 6  # letters that a quoted message must fix


def quoted(text: str) -> list[str]:
    """The messages of a page."""
    return [hit["text"] for hit in MESSAGE.finditer(text)]


def _of_python(path: Path) -> list[str]:
    """The texts in a Python file, with a hole for each value."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(part.value) if isinstance(part, ast.Constant) else HOLE
                for part in node.values
            ]
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


@cache
def texts() -> tuple[str, ...]:
    """All texts that the programs and the module may print."""
    found: list[str] = []
    for folder in FOLDERS:
        for path in (PROJECT / folder).rglob("*.py"):
            found += _of_python(path)
        for path in (PROJECT / folder).glob("*.c"):
            strings = C_STRING.findall(path.read_text())
            whole = [SEAM.sub("", text) for text in strings]
            found += [CONVERSION.sub(HOLE, text) for text in whole]
    return tuple(found)


def exists(message: str) -> bool:
    """Whether a text of the source reads so, but for what differs."""
    parts = [part.strip(" ") for part in message.split(DIFFERS)]
    assert sum(map(len, parts)) >= LEAST, f"{message}: says nothing of its own"
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return any(pattern.search(text) for text in texts())


MESSAGES = quoted(PAGE.read_text())


def test_there_are_messages() -> None:
    rows = [x for x in PAGE.read_text().splitlines() if x.startswith("| `")]
    assert len(MESSAGES) == len(rows) > 40


@pytest.mark.parametrize("message", MESSAGES)
def test_a_quoted_message_is_in_the_source(message: str) -> None:
    assert exists(message)


def test_a_message_that_nobody_prints_is_found() -> None:
    assert not exists("no engine works there: ...")
    assert exists("no engine works here: ...")
    with pytest.raises(AssertionError, match="says nothing of its own"):
        exists("...: ...")
