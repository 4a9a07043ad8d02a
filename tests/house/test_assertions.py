# SPDX-License-Identifier: GPL-2.0-only
"""test_assertions: check that every test can fail."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from tree import FILES, python_files

from support import PROJECT

TESTS = PROJECT / "tests"
PYTHON = [path for path in python_files(FILES) if TESTS in path.parents]
PARSED = {path: ast.parse(path.read_text()) for path in PYTHON}
GUEST = re.compile(r'^(?:# |""")This test will ', re.MULTILINE)
ASSERTING = {"raises", "warns", "fail"}  # of pytest
CHECK = re.compile(
    r"^(?:.*\|\| )?(?:fail|failed|die|check|expect\w*|verdict|quiet_kernel)\b"
    r"|^\s*(?:\[\[|\(\(|exit [1-9])",
    re.MULTILINE,
)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _calls(tree: ast.AST) -> set[str]:
    """Names of the functions and methods that a piece of code calls."""
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = {func.id for func in called if isinstance(func, ast.Name)}
    return functions | {f.attr for f in called if isinstance(f, ast.Attribute)}


def _asserts(tree: ast.AST, helpers: set[str]) -> bool:
    found = any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(tree))
    return found or bool(_calls(tree) & (helpers | ASSERTING))


def _imported(path: Path) -> set[Path]:
    """A test module and all modules that it imports, directly or not."""
    found, left = set[Path](), [path]
    while left:
        one = left.pop()
        found.add(one)
        names = set[str]()
        for node in ast.walk(PARSED.get(one, ast.Module([], []))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {name.name for name in node.names}
                names.add(getattr(node, "module", None) or "")
        left += [p for p in PYTHON if p.stem in names and p not in found]
    return found


def _helpers(path: Path, tree: ast.Module) -> set[str]:
    """Names of a module's functions, imported ones included, that assert something."""
    bodies = defaultdict[str, list[ast.FunctionDef]](list)
    for module in [tree, *(PARSED[one] for one in _imported(path) - {path})]:
        for function in _functions(module):
            if not function.name.startswith("test_"):
                bodies[function.name].append(function)
    found, size = set[str](), -1
    while len(found) != size:
        size = len(found)
        found |= {n for n, b in bodies.items() if any(_asserts(f, found) for f in b)}
    return found


def without_assertion(path: Path, tree: ast.Module) -> list[str]:
    """Names of a module's tests that assert nothing."""
    helpers = _helpers(path, tree)
    tests = [one for one in _functions(tree) if one.name.startswith("test_")]
    return [test.name for test in tests if not _asserts(test, helpers)]


@pytest.mark.parametrize(
    "path",
    [path for path in PYTHON if path.name.startswith("test_")],
    ids=lambda path: str(path.relative_to(TESTS)),
)
def test_every_test_asserts(path: Path) -> None:
    assert not without_assertion(path, PARSED[path])


def test_a_test_without_an_assertion_is_found() -> None:
    text = """
def made(): return 1
def same(a): assert a == made()
def test_of_nothing(): list(map(made, "abc"))
def test_by_helper(): same(made())
def test_of_errors():
    with pytest.raises(ValueError): made()
"""
    found = without_assertion(TESTS / "test_new.py", ast.parse(text))
    assert found == ["test_of_nothing"]


def _can_fail(path: Path) -> bool:
    """Whether a guest script can exit with a failure."""
    text = path.read_text()
    if path not in PARSED:
        return bool(CHECK.search(text) and re.search(r"^set -e|/lib\.sh", text, re.M))
    status = re.search(r"sys\.exit\([^\d)]", text)
    return bool(status) or _asserts(PARSED[path], _helpers(path, PARSED[path]))


def test_every_guest_script_can_fail() -> None:
    scripts = [
        path
        for path in FILES
        if path.parent.parent in (TESTS, TESTS / "repro")
        and path.suffix in (".py", ".sh")
        and GUEST.search(path.read_text()[:400])
        and not path.name.startswith("test_")
    ]
    assert scripts
    assert not [path.name for path in scripts if not _can_fail(path)]
