# SPDX-License-Identifier: GPL-2.0-only
"""test_rooms: check that imports between the rooms of a package go one way."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import PROJECT, imports

# The rooms of each package. A room imports from itself and from those before it.
PACKAGES = {
    "analysis/writestall": """
        common events classify chain verdict log export whatif pictures report watch
        compare cli course
    """.split(),
    "repro/labrun": "scenario comparison setup injectors workloads run crash".split(),
}
ROOMS = [(folder, room) for folder, rooms in PACKAGES.items() for room in rooms]


def _shared(package: Path) -> set[str]:
    """The modules outside rooms: every room may import them."""
    return {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}


def _inner(path: Path, package: Path) -> set[str]:
    """The rooms and shared modules of the package that a file imports."""
    names = (name.split(".") for name in imports(path))
    found = {name[1] for name in names if name[0] == package.name and name[1:]}
    return found & {one.stem for one in package.iterdir()}


@pytest.mark.parametrize("folder", PACKAGES)
def test_every_folder_is_a_room(folder: str) -> None:
    found = {path.parent.name for path in (PROJECT / folder).glob("*/*.py")}
    assert found == set(PACKAGES[folder])


@pytest.mark.parametrize(("folder", "room"), ROOMS)
def test_imports_between_rooms_go_one_way(folder: str, room: str) -> None:
    package, rooms = PROJECT / folder, PACKAGES[folder]
    allowed = {*_shared(package), *rooms[: rooms.index(room) + 1]}
    for path in (package / room).rglob("*.py"):
        assert _inner(path, package) <= allowed, path


@pytest.mark.parametrize("folder", PACKAGES)
def test_shared_modules_import_no_room(folder: str) -> None:
    package = PROJECT / folder
    for name in _shared(package):
        path = package / f"{name}.py"
        assert _inner(path, package) <= _shared(package), path


def _name(path: Path, package: Path) -> str:
    words = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(words).removesuffix(".__init__")


def test_no_modules_of_labrun_import_each_other() -> None:
    package = PROJECT / "repro/labrun"
    files = {_name(path, package): path for path in package.rglob("*.py")}
    ahead = {
        name: {
            found if found in files else found.rpartition(".")[0]
            for found in imports(path)
        }
        - {package.name}
        for name, path in files.items()
    }
    while leaves := {name for name in ahead if not ahead[name] & ahead.keys()}:
        ahead = {name: ahead[name] for name in ahead.keys() - leaves}
    assert not ahead
