# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare docs/probes.md with what the sources hang probes on, and with
the files that know functions of the kernel by name."""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

from support import PROJECT

PAGE = (PROJECT / "docs/probes.md").read_text()
SOURCES = (
    *("stap/*.stp", "stap/lessons/*.stp", "stap/tapset/*.stp", "bpf/lessons/*.bt"),
    *("bpf/core/probes/*.c", "kmod/Kbuild", "trace/drill/cli.py"),
    *("trace/launcher/systemtap.py", "trace/watcher/own.py"),
)
# As libbpf, SystemTap, bpftrace, C, make and Python write the name of what is probed.
FORMS = [
    re.compile(form, re.MULTILINE)
    for form in (
        r'SEC\("(?:raw_tp|tp_btf|tp/\w+|fentry|fexit|kprobe)/(\w+)"\)',
        r'(?:kernel\.trace|kprobe\.function|PL_FUNCTION)\("(\w+)"',
        r"\b(?:raw)?tracepoint:\w+:(\w+)",
        r"\bk(?:ret)?probe:(\w+)",
        r'\{ "(\w+)", lk_',
        r'\bio_trace\(&\w+, "(\w+)"',
        r"^\t(\w+),\w+\)$",
        r"^\t\w+,(\w+)\)$",
        r'"--root", default="(\w+)"',
    )
]
TUPLES = re.compile(r'(?:OPTIONAL = |"page_locks": )\((.*)\)')
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \|", re.MULTILINE)
FILE = re.compile(r"^\| ([\w/.]+/[\w.]+) \| ", re.MULTILINE)
# Where functions of the kernel may be named beside the rules' own folders.
CODE = (
    *("analysis/**/*.py", "base/**/*.py", "trace/**/*.py"),
    *("bpf/core/**/*.[ch]", "stap/**/*.stp", "kmod/*.[ch]"),
)
RULES = re.compile(r"/(?:rules|holders|lessons)/")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# A name that stands for itself: no part of a longer one, and not cited as `name()`.
NAME = re.compile(r"(?<![\w/])[a-z_][a-z0-9_]+(?!\w|\(\))")
# Functions that are looked up by address, of which no recorded stack has a frame.
LOOKED_UP = {"aio_fsync_work", "bd_may_claim"}
Probe = tuple[str, str]  # the name, and the file that has it


def _probed() -> Iterator[Probe]:
    for pattern in SOURCES:
        for path in PROJECT.glob(pattern):
            text, file = path.read_text(), str(path.relative_to(PROJECT))
            for form in FORMS:
                yield from ((name, file) for name in form.findall(text))
            for names in TUPLES.findall(text):
                yield from ((name, file) for name in re.findall(r"\w+", names))


def _listed() -> Iterator[Probe]:
    for name, _, files in ROW.findall(PAGE):
        yield from ((name, file) for file in files.split(", "))


def test_the_list_of_probes_is_that_of_the_sources() -> None:
    listed, probed = set(_listed()), set(_probed())
    assert listed == probed, (
        f"docs/probes.md lacks {sorted(probed - listed)}"
        f" and has, but no file does, {sorted(listed - probed)}"
    )


def _functions() -> set[str]:
    """The kernel's functions in the recorded stacks, of more than one word."""
    lines = gzip.decompress((PROJECT / "tests/data/stacks.jsonl.gz").read_bytes())
    stacks = (json.loads(line)["kstack"] for line in lines.splitlines())
    names = {re.split(r"[+.]", frame)[0] for stack in stacks for frame in stack}
    return {name for name in names if "_" in name.strip("_")} | LOOKED_UP


def _strings(path: Path) -> Iterator[str]:
    """The strings of a file of C, SystemTap or Python, docstrings left out."""
    if path.suffix != ".py":
        yield from LITERAL.findall(COMMENT.sub("", path.read_text()))
        return
    nodes = list(ast.walk(ast.parse(path.read_text())))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in prose:
            yield from [node.value] if isinstance(node.value, str) else []


def _named() -> Iterator[Probe]:
    """The functions that each file names, and does not probe."""
    functions, probed = _functions(), set(_probed())
    assert len(functions) > 500
    for path in (path for pattern in CODE for path in PROJECT.glob(pattern)):
        file = str(path.relative_to(PROJECT))
        text = "" if RULES.search(file) else " ".join(_strings(path))
        for name in functions & set(NAME.findall(re.sub(r"\\b", " ", text))):
            if (name, file) not in probed:
                yield name, file


def test_every_file_that_knows_functions_by_name_is_listed() -> None:
    files, named = set(FILE.findall(PAGE)), sorted(_named())
    assert ("handle_mm_fault", "bpf/core/output/events.c") in named
    missing = [pair for pair in named if pair[1] not in files]
    assert not missing, f"docs/probes.md does not list these files: {missing}"
    assert files == {file for _, file in named}


def test_a_probe_that_nobody_listed_is_found() -> None:
    """In each of the languages."""
    planted = (
        'SEC("fentry/planted")',
        'SEC("tp/jbd2/planted")',
        'probe kernel.trace("planted")',
        'probe kprobe.function("planted").return',
        "kretprobe:planted {",
        "tracepoint:sched:planted {",
        '\tPL_FUNCTION("planted", 0, 1, true),',
        '\terr = io_trace(&io_begin_ops, "planted");',
    )
    for line in planted:
        assert any(form.findall(line) == ["planted"] for form in FORMS), line
