# SPDX-License-Identifier: GPL-2.0-only
"""test_layout: check the folders and names of the tree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from tree import FILES, TEXTS, python_files, tracked_links

from support import PROJECT

NAMES = [path.relative_to(PROJECT) for path in FILES]
MAX_FILES = 20
# One file per run, log, scenario, profile, document, or test in the guest.
ONE_EACH = (
    *("tests/data", "repro/scenarios", "repro/profiles", "docs"),
    *("tests/kmod", "tests/scripts", "tests/repro"),
    "kmod",  # kbuild builds a module from one folder, as in drivers/
)
MAX_COLUMNS = 132
HEAD_LINES = 12
HEADER = re.compile(r"\bturn(?:s|ed)?\b[^.]*\binto\b")


def test_no_header_says_turns_into() -> None:
    heads = {
        str(path.relative_to(PROJECT)): path.read_text(errors="replace").splitlines()
        for path in TEXTS
        if path != Path(__file__) and "data" not in path.parts
    }
    assert not [n for n, h in heads.items() if HEADER.search(" ".join(h[:HEAD_LINES]))]


def test_no_file_is_a_link() -> None:
    assert not tracked_links(PROJECT)


def test_nothing_is_named_program() -> None:
    assert not [name for name in NAMES if name.stem == "program"]


def test_no_folder_has_too_many_files() -> None:
    counts = Counter(
        str(name.parent) for name in NAMES if not str(name).startswith(ONE_EACH)
    )
    assert {folder: n for folder, n in counts.items() if n > MAX_FILES} == {}


def _alike(one: str, other: str) -> bool:
    """Whether two names are one word with different endings: compare, comparison."""
    shorter, longer = sorted((one, other), key=len)
    stem = shorter.removesuffix("e")
    ending = longer.removeprefix(stem)
    alike = longer.startswith(stem) and len(shorter) >= 4
    return alike and ending.isalpha() and len(ending) <= 4


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("compare", "comparing", True),
        ("compare", "comparison", True),
        ("heat", "heatmap", True),
        ("flame", "flames", True),
        ("rule", "rules", True),
        ("scan", "scanner", True),
        ("classes", "classify", False),
        ("report", "report_page", False),
        ("frames", "framing_of_all", False),
        ("axes", "axis", False),
        ("commits", "compare", False),
    ],
)
def test_endings_are_distinguished_from_words(
    one: str, other: str, alike: bool
) -> None:
    assert _alike(one, other) is alike


def test_no_two_modules_differ_by_an_ending() -> None:
    modules = sorted({path.with_suffix("") for path in python_files(FILES)})
    pairs = [
        f"{one} and {other.name}"
        for one, other in combinations(modules, 2)
        if one.parent == other.parent and _alike(one.name, other.name)
    ]
    assert not pairs


def _path_changes(tree: ast.AST) -> Iterator[ast.AST]:
    """Assignments to sys.path or a slice of it, and calls of its methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            changed = [ast.unparse(target) for target in targets]
        elif isinstance(node, ast.Call):
            changed = [ast.unparse(node.func)]
        else:
            continue
        if any(re.match(r"sys\.path(?!\w)", text) for text in changed):
            yield node


def test_the_root_program_alone_changes_the_search_path() -> None:
    found = [
        str(path.relative_to(PROJECT))
        for path in python_files(FILES)
        if any(_path_changes(ast.parse(path.read_text())))
    ]
    assert found == ["writestall"]


def test_prose_has_no_long_lines() -> None:
    pages = [*(PROJECT / "docs").rglob("*.md"), *PROJECT.glob("*.md")]
    wide = [
        f"{page.relative_to(PROJECT)}:{number}"
        for page in pages
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > MAX_COLUMNS and not line.lstrip().startswith("|")
    ]
    assert not wide
