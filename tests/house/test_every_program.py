# SPDX-License-Identifier: GPL-2.0-only
"""test_every_program: --help, unknown options and stray words start no work."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from driver import checkout
from machine import cli as vm
from support import PROJECT
from writestall.cli.commands import COMMANDS, spelled
from writestall.cli.main import main

LIMIT_S = 60
# Recorded instead of run: commands that would change this host.
CHANGERS = """
    apt-get sudo mmdebstrap unshare setpriv make stap staprun bpftrace insmod ln mktemp
""".split()
STUB = """#!/bin/sh
echo "$0 $*" >>"$STARTED"
exit 1
"""


def _programs() -> list[str]:
    """Every program of the tree that a user starts, and all their commands.

    Exempt are files below tests/ (pytest or a guest starts them) and `*.sh`, which
    other programs of the tree start with their own arguments.
    """
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    programs = [
        name
        for name in sorted(listed)
        if os.access(PROJECT / name, os.X_OK)
        and (PROJECT / name).is_file()
        and not name.startswith("tests/")
        and not name.endswith(".sh")
    ]
    programs += [f"writestall {spelled(row)}" for row in COMMANDS.values()]
    return programs + [f"vm/vm {name}" for name in vm.COMMANDS]


PROGRAMS = _programs()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a cache, stubs of commands that change a host, and nothing else."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/tree-0123").write_text("must survive")
    (tmp_path / "bin").mkdir()
    for name in CHANGERS:
        (tmp_path / "bin" / name).write_text(STUB)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def _call(place: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Call a program, and check that it builds, deletes and starts nothing."""
    environment = os.environ | {
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "STARTED": str(place / "started"),
        "WRITESTALL_CACHE": str(place / "cache"),
    }
    done = subprocess.run(
        [str(PROJECT / words[0]), *words[1:]],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    started = place / "started"
    assert not started.exists(), f"it started {started.read_text()}"
    assert sorted(path.name for path in place.iterdir()) == ["bin", "cache"]
    assert [path.name for path in (place / "cache").iterdir()] == ["tree-0123"]
    return done


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_is_usage_and_nothing_else(program: str, place: Path) -> None:
    done = _call(place, [*program.split(), "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage: " in done.stdout.lower()
    if program.startswith(("writestall", "vm/vm")):
        assert f"xample: {program}" in " ".join(done.stdout.split())


# Two words: one may be the folder that a program is to make.
MISTAKES = [(one, words) for one in PROGRAMS for words in ("--nonsense", "stray a")]
MISTAKES += [("trace/drilldown", "--auto -p 1 stray"), ("trace/system-map", "make a")]


@pytest.mark.parametrize(("program", "words"), MISTAKES)
def test_a_mistake_is_one_line_and_no_work(
    program: str, words: str, place: Path
) -> None:
    done = _call(place, [*program.split(), *words.split()])
    assert done.returncode != 0
    assert done.stdout == ""
    # argparse prints the usage, indented, before its line.
    lines = [line for line in done.stderr.splitlines() if line[:1] != " "]
    assert len(lines) <= 1 + lines[0].startswith("usage: "), done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "explian": "unknown command 'explian'; did you mean explain?",
        "lab --kernle": "unknown option --kernle; did you mean --kernel?",
        "lab --engine=croe": "unknown 'croe'; did you mean core?",
        **{
            f"{command} --engine bpftrace": "unknown 'bpftrace': it was removed; use"
            " core, which has the same events"
            for command in ("lab", "record", "watch", "trace")
        },
        "export . --to perfeto": "unknown 'perfeto'; did you mean perfetto?",
        "hist . --nothing": "unknown option --nothing; see writestall hist --help",
    }.items(),
)
def test_an_unknown_word_is_answered_with_the_nearest_one(
    words: str, said: str, place: Path
) -> None:
    done = _call(place, ["writestall", *words.split()])
    assert done.returncode == 2
    assert said in done.stderr


def test_a_command_names_what_it_needs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["lab", "page-lock"]) == 2
    assert "lab: needs a clone of the tree" in capsys.readouterr().err
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["trace", "stalled_writes"], checkout=checkout) == 2
    assert "trace: needs root; run it with sudo" in capsys.readouterr().err
