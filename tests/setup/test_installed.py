# SPDX-License-Identifier: GPL-2.0-only
"""This test will lay the files down as the Debian packages have them, and use them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver.packaging import RECIPES
from support import PROJECT

PACKAGES = ("writestall", "writestall-tracers")
MADE = ("build/", "debian/", "libraries/")  # by the build of the packages


def _entries(package: str) -> Iterator[tuple[Path, str]]:
    """What of the tree dh_install puts where."""
    text = (RECIPES / f"debian/{package}.install").read_text()
    for line in text.splitlines():
        words = line.split()
        if words[0] != "#" and not words[0].startswith(MADE):
            for pattern in words[:-1]:
                for source in PROJECT.glob(pattern):
                    yield source, words[-1]


def _lay_down(root: Path, *packages: str) -> Path:
    for package in packages:
        for source, folder in _entries(package):
            target = root / folder / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
    return root / "usr/share/writestall/writestall"


def _run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(program), *words],
        cwd=program.parent.parent,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_explains_without_a_checkout(tmp_path: Path) -> None:
    program = _lay_down(tmp_path, *PACKAGES)
    link = tmp_path / "program"
    link.symlink_to(program)
    done = _run(link, "demo", "--no-browser", "-o", str(tmp_path / "demo"))
    assert "waiting for vdb through jbd2's commit" in done.stdout, done.stderr
    assert (tmp_path / "demo/report.html").exists()


@pytest.mark.parametrize("command", ["record", "trace"])
def test_the_tracers_are_found_beside_it(command: str, tmp_path: Path) -> None:
    done = _run(_lay_down(tmp_path, *PACKAGES), command, "--help")
    assert f"usage: writestall {command}" in done.stdout, done.stderr


def test_a_script_of_the_tracers_is_found(tmp_path: Path) -> None:
    program = _lay_down(tmp_path, *PACKAGES)
    done = _run(program.parent / "trace/trace", "stalled_writes", "--help")
    assert "--stall-us" in done.stdout, done.stderr


def test_without_its_package_a_command_says_what_it_needs(tmp_path: Path) -> None:
    program = _lay_down(tmp_path, "writestall")
    for command, needs in {
        "record": "root and the Debian package writestall-tracers, or a clone"
        " of the tree",
        "lab": "a clone of the tree",
    }.items():
        done = _run(program, command)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"writestall: {command}: needs {needs}, where")
        assert len(done.stderr.splitlines()) == 1
