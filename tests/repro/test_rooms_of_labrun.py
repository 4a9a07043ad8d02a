# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that imports between the rooms of labrun go one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import labrun

PACKAGE = Path(labrun.__file__).parent
# A room imports from itself and from those before it.
ROOMS = "scenario comparison setup injectors workloads run crash".split()
# Modules outside rooms may be imported by all; they import only each other.
SHARED = "command_line errors process progress steps stop".split()
MOST_FILES = 20


def _imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, and the names from them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _inner(path: Path) -> set[str]:
    """The room or the shared module of each import from the package."""
    names = (name.split(".") for name in _imports(path))
    return {name[1] for name in names if name[0] == "labrun"} - {"TREE"}


def test_imports_between_rooms_go_one_way() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", *SHARED}
    assert {path.parent.name for path in PACKAGE.glob("*/*.py")} == set(ROOMS)
    for path in PACKAGE.glob("*.py"):
        assert _inner(path) <= set(SHARED), path
    for index, room in enumerate(ROOMS):
        for path in (PACKAGE / room).glob("*.py"):
            assert _inner(path) <= {*SHARED, *ROOMS[: index + 1]}, path


def test_no_modules_import_each_other() -> None:
    files = {_name(path): path for path in PACKAGE.rglob("*.py")}
    ahead = {
        name: {
            known
            for found in _imports(path)
            for known in (found, found.rpartition(".")[0])
            if known in files and known != "labrun"
        }
        for name, path in files.items()
    }
    while leaves := {name for name in ahead if not ahead[name] & ahead.keys()}:
        ahead = {name: ahead[name] for name in ahead.keys() - leaves}
    assert not ahead


def _name(path: Path) -> str:
    words = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(words).removesuffix(".__init__")


def test_folders_are_small() -> None:
    for folder in (PACKAGE, *filter(Path.is_dir, PACKAGE.iterdir())):
        assert len(list(folder.glob("*.py"))) <= MOST_FILES, folder
