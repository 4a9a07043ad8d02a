# SPDX-License-Identifier: GPL-2.0-only
"""test_core: build the tracer of bpf/core, and use its command line wrongly.

tests/scripts run it in a guest.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from driver.builds import core
from machine import recipe


@pytest.fixture(scope="module")
def program() -> Path:
    """The program; its Makefile makes an error of each warning."""
    return core.build(recipe.load()) / "core" / core.PROGRAM


def _run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(program), *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )


def test_it_is_one_file(program: Path) -> None:
    """Nothing that a host would have to install: no libraries, and no compiler."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    assert "not a dynamic executable" in done.stderr


def test_its_help_has_an_example(program: Path) -> None:
    done = _run(program, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: stalled-writes [OPTION]... [SCRIPT]\n")
    assert "\nexample: stalled-writes " in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (
            "--nonsense",
            2,
            "--nonsense: no such option, or it needs a value; try --help",
        ),
        ("--pid", 2, "--pid: no such option, or it needs a value; try --help"),
        ("stray", 2, "stray: no such script; try --help"),
        ("page_locks stray", 2, "stray: one script at a time; try --help"),
        ("page_locks --stall-us 1", 2, "page_locks has no --stall-us"),
        ("--pid 1 journal_commits", 2, "journal_commits has no --pid"),
        ("slow_writes --floor-us 1", 2, "slow_writes has no --floor-us"),
        ("--io-us 1 slow_writes", 2, "slow_writes has no --io-us"),
        ("drilldown --stall-us 1", 2, "drilldown needs --functions"),
        ("--functions vfs_write", 2, "stalled_writes has no --functions"),
        ("--pid 0", 2, "--pid 0: give a number from 1 to 2147483647"),
        ("--floor-us 1x", 2, "--floor-us 1x: give a number from 0 to 3600000000"),
        ("--comm a-name-of-16-byt", 2, "--comm a-name-of-16-byt: a name has 1 to 15"),
        ("--call write,sneeze", 2, "--call sneeze: no call of a file system, nor a"),
        ("--device /dev/null", 1, "--device /dev/null: no block device; give one, or"),
        ("--path /none", 1, "--path /none: No such file or directory"),
        ("--output /none/x", 1, "--output /none/x: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(
    program: Path, words: str, status: int, message: str
) -> None:
    done = _run(program, *words.split())
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"stalled-writes: {message}")
    assert done.stderr.count("\n") == 1


HEADERS = sorted((core.SOURCE / "probes").glob("*.h"))


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.name)
def test_a_header_of_the_probes_includes_what_it_needs(header: Path) -> None:
    flags = ["-D__TARGET_ARCH_x86", f"-I{header.parent}", f"-I{core.SOURCE}"]
    flags += ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        ["clang", "-target", "bpf", *flags, "-x", "c", "-"],
        input=f'#include "{header.name}"\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
