# SPDX-License-Identifier: GPL-2.0-only
"""tree: list the files of a tree, and its Python files in groups of unique names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support import PROJECT

PYTHON_SHEBANG = re.compile(rb"#!.*\bpython")


def _listed(tree: Path) -> set[Path]:
    """What git lists: tracked, or new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=tree, capture_output=True, text=True, check=True
    )
    return {tree / line for line in listed.stdout.splitlines()}


def tracked(tree: Path) -> list[Path]:
    """Files of a git tree, without links."""
    files = _listed(tree)
    return sorted(path for path in files if path.is_file() and not path.is_symlink())


def python_files(files: list[Path]) -> list[Path]:
    """The Python files, by extension or first line."""
    return [
        path
        for path in files
        if path.suffix == ".py" or PYTHON_SHEBANG.match(path.read_bytes()[:64])
    ]


def import_root(path: Path) -> Path:
    """The import root of a file: the folder of its outermost package."""
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def groups(files: list[Path]) -> list[list[Path]]:
    """Split Python files so that no group has two modules of one name.

    mypy checks each group in one process. The files of a folder are in one group,
    except a script and a module or package of the same name. Scripts of which one has
    the name of a package are by themselves: who imports it must not find the script.
    """
    alone: list[dict[Path, Path]] = []
    made: list[dict[Path, Path]] = []
    folders: dict[tuple[Path, bool], dict[Path, Path]] = {}
    for path in files:
        root = import_root(path)
        name = path.relative_to(root).with_suffix("")
        if name.name == "__init__":
            name = name.parent
        folders.setdefault((root, path.suffix == ".py"), {})[name] = path
    packages = {
        name.parents[-2] for one in folders.values() for name in one if name.parent.name
    }
    for (_, is_module), modules in folders.items():
        if not is_module and modules.keys() & packages:
            alone.append(modules)
            continue
        group = next((one for one in made if not one.keys() & modules), None)
        if group is None:
            made.append(dict(modules))
        else:
            group |= modules
    return [list(group.values()) for group in (*made, *alone)]


FILES = tracked(PROJECT)
TEXTS = [path for path in FILES if b"\0" not in path.read_bytes()]
