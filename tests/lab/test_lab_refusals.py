# SPDX-License-Identifier: GPL-2.0-only
"""This test will pass unknown values to make targets, and get one line that names the
value, at once, with nothing started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lab_runs import make

WORDS = {
    "lab": {
        "KERNEL=9.9": "unknown kernel '9.9': this recipe has",
        "SCENARIO=journal-bufer": "journal-buffer",
        "SCENARIO=page-lock-classic": "5.4; name another with --kernel; docs/install",
        "ENGINE=dtrace": "argument --engine: unknown 'dtrace'; use stap, core, both",
        "ENGINE=bpftrace": "unknown 'bpftrace': it was removed; use core, which has",
        "INJECTOR=dm-dela": "--injector: unknown 'dm-dela'; did you mean dm-delay?",
        "MODE=differ": "argument --mode: unknown 'differ'; did you mean defer?",
        "WORKLOAD=appenders": "WORKLOAD: make lab has no such variable; it takes SCEN",
        "FS=xfs": "--fs needs --command; a scenario's file has its own",
        "PACKAGES=Foo": "package 'Foo': want the name of a Debian package",
        "MEMORY=3X": "'3X' is not a size: write 512M or 2G",
        "CALL=fsnc": "argument --call: fsnc: no call of a file system; docs/events.md",
        "SHARE=/nowhere": "/nowhere is not a folder",
        "ACCEL=hvf": "--accel: unknown 'hvf'; use kvm, tcg, icount, icount-warp",
    },
    "compare": {
        "SCENARIO=broker": "SCENARIO: make compare has no such variable; it takes",
        "PROFILE=dying-ssd": "profile 'dying-ssd' is not known",
        "FS=ext4,zfs": "file system or option 'zfs' is not known",
        "WORKLOAD=brocker": "scenario 'brocker' is not known",
        "SLO=65": "--slo 65: want a time with its unit, like 65ms or 1.5s",
        "OBJECTIVE=fast": "--objective fast: want one like 'over 65ms < 0.1%'",
        "MARGIN=2": "--margin 2: want a factor above 0, like 1.2x",
        "BUDGET=2": "--budget: '2': want a time like 2h or 90min",
        "BUDGET=5min": "--budget: 0 rounds are within it, but fewer than 8 decide",
        "ROUNDS=3": "--rounds 3: fewer than 8 rounds decide nothing about 15 options",
        "BASELINE=zfs": "--baseline zfs: not one of ext4-default, ",
        "ROUNDS=many": "--rounds: 'many': want 1 to 1000",
        "KERNEL=9.9": "unknown kernel '9.9'",
        "LOAD=50,much": "--load: 'much': want 1 to 10000",
        "CUT=-1": "argument --cut: '-1': want a whole number",
        "JOBS=0": "--jobs: '0': want a whole number, 1 or more",
        "EXECUTOR=slrum": "--executor: unknown 'slrum'; did you mean slurm?",
        "EXECUTOR=cluster-generic": "want cluster-generic-submit-cmd and cluster-",
    },
    "crash": {
        "FS=ext4,zfs": "file system or option 'zfs' is not known",
        "DURATION=long": "--duration: 'long': want a whole number, 1 or more",
        "KERNEL=9.9": "unknown kernel '9.9'",
    },
}


@pytest.mark.parametrize(
    ("target", "word", "said"),
    [(target, *row) for target, words in WORDS.items() for row in words.items()],
)
def test_a_bad_word_gets_one_line_at_once(
    tmp_path: Path, target: str, word: str, said: str
) -> None:
    name, _, value = word.partition("=")
    _check_refused(tmp_path, target, said, SNAKEMAKE_PROFILE="", **{name: value})


def test_no_scheduler_gets_one_line_at_once(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("path")
    (path / "python3").symlink_to(sys.executable)
    asked = {"EXECUTOR": "slurm", "PATH": str(path)}
    _check_refused(tmp_path, "compare", "--executor slurm: no sbatch", **asked)


def _check_refused(out: Path, target: str, said: str, **variables: str) -> None:
    done = make(out, target, **variables).done
    lines = done.stderr.splitlines()
    ours = [line for line in lines if not line.startswith("make")]
    assert done.returncode != 0
    assert len(ours) == 1, ours
    assert said in ours[0]
    assert not list(out.iterdir()), "something was started"
