# SPDX-License-Identifier: GPL-2.0-only
"""test_house: check each file against the rules of the tree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tree import FILES, python_files

from support import PROJECT

MAX_LINES = 400
# Data, prose and licences may be long, and JSON has no comments.
FREE_FORM = {".json", ".jsonl", ".md", ".gz", ".hlog", ".log", ".txt"}
NO_HEADER = {"LICENSE", "py.typed"}
# Package archives by host: mirrors come from the machine, never from the tree.
HOSTS = re.compile(
    r"\b(?:deb|security|snapshot)\.debian\.org|pypi\.org|ftp\.[a-z]+\.debian"
)
# What may import what of the project's own Python (docs: README's folder map).
MAY_IMPORT = {
    "vm": {"machine"},
    "lab": {"machine", "driver"},
    "repro": {"labrun"},
    "analysis": {"writestall"},
    "stap": set(),
    "bpf": {"events"},
    "kmod": set(),
}
KERNEL_SIDE = {".c", ".h", ".S", ".stp", ".bt"}
OURS = {"machine", "driver", "labrun", "writestall"}


TEXTS = [path for path in FILES if b"\0" not in path.read_bytes()]


def _name(path: Path) -> str:
    return str(path.relative_to(PROJECT))


@pytest.mark.parametrize("path", TEXTS, ids=_name)
def test_licence_line_comes_first(path: Path) -> None:
    if path.suffix in FREE_FORM - {".md"} or path.name in NO_HEADER:
        return
    head = "\n".join(path.read_text(errors="replace").splitlines()[:3])
    assert "SPDX-License-Identifier: GPL-2.0-only" in head


@pytest.mark.parametrize("path", TEXTS, ids=_name)
def test_a_file_stays_readable(path: Path) -> None:
    if path.suffix in FREE_FORM or path.name in NO_HEADER:
        return
    assert len(path.read_text(errors="replace").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", TEXTS, ids=_name)
def test_no_archive_host_is_named(path: Path) -> None:
    if path != Path(__file__):
        assert not HOSTS.search(path.read_text(errors="replace"))


def _imports(path: Path) -> set[str]:
    """Top-level names that a Python file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folders_meet_only_where_they_may(folder: str) -> None:
    for path in python_files(FILES):
        if _name(path).startswith(f"{folder}/"):
            strangers = _imports(path) & (OURS - MAY_IMPORT[folder])
            assert not strangers, f"{_name(path)} imports {strangers}"


# An include that leaves its folder: C and bpftrace by "../", SystemTap by @include.
REACHES_OUT = re.compile(r'^\s*#\s*include\s+"\.\./|@include', re.MULTILINE)


@pytest.mark.parametrize("folder", ["kmod", "stap", "bpf"])
def test_kernel_side_includes_no_neighbour(folder: str) -> None:
    for path in FILES:
        if _name(path).startswith(f"{folder}/") and path.suffix in KERNEL_SIDE:
            assert not REACHES_OUT.search(path.read_text()), _name(path)


# A fork for the preprocessor that is no guard against a second inclusion.
FORK = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b(?!.*\bBIODELAY_(?:\w+_)?H\b)", re.M
)


def test_kernels_differ_in_compat_alone() -> None:
    sources = [p for p in FILES if p.parent == PROJECT / "kmod"]
    forked = {
        path.name
        for path in sources
        if path.suffix in KERNEL_SIDE and FORK.search(path.read_text())
    }
    assert forked == {"compat.h", "compat_block.h"}


def test_the_explainer_never_opens_the_injectors_record() -> None:
    """Only `check` may know the truth; otherwise every demo succeeds."""
    package = PROJECT / "analysis/writestall"
    files = package.rglob("*.py")
    readers = {p.relative_to(package) for p in files if "truth.jsonl" in p.read_text()}
    assert readers, "nobody reads truth.jsonl: this test looks in the wrong place"
    assert not {p for p in readers if p.parts[0] in ("events", "classify", "chain")}


@pytest.mark.parametrize(
    ("script", "probe", "places"),
    [
        (
            "stap/stalled_writes.stp",
            r"^probe (.*)$",
            {
                'kernel.trace("sched_switch")',
                'kernel.trace("sched_waking")',
                "timer.ms(10)",
                "begin",
                "end",
            },
        ),
        (
            "bpf/stalled_writes.bt",
            r"^(\w+:[\w:]+)",
            {
                "rawtracepoint:vmlinux:sched_switch",
                "rawtracepoint:vmlinux:sched_waking",
                "self:signal:SIGUSR1",
            },
        ),
    ],
)
def test_no_probe_lies_on_the_write_path(
    script: str, probe: str, places: set[str]
) -> None:
    text = (PROJECT / script).read_text()
    assert set(re.findall(probe, text, re.MULTILINE)) == places
