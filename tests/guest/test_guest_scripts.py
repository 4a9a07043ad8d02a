# SPDX-License-Identifier: GPL-2.0-only
"""test_guest_scripts: every script that tests inside a guest, on every kernel.

A script is a file of one of the folders below whose first comment or docstring
begins with "This test will"; the others are their libraries. Its status is
the verdict, and the kernel's complaints overrule it. The scripts of one folder on one
kernel share a machine as long as all goes well (batch.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from batch import TOOK_S, Batch, Verdict
from machine import recipe
from machine.run import GUEST_PROJECT
from support import EVERY, KERNELS, PROJECT

TESTS = PROJECT / "tests"
BUILD = "/mnt/build"
LIMIT_S = 1500


@dataclass(frozen=True)
class Folder:
    """A folder of guest scripts and what each is called with."""

    path: str
    arguments: tuple[str, ...]


FOLDERS = (
    Folder("tests/kmod", (f"{BUILD}/biodelay.ko", "/dev/vdb")),
    Folder("tests/scripts", ("--modules", f"{BUILD}/stap")),
    Folder("tests/repro/guest", ("--build", BUILD)),
)
# What must be shown on every kernel in `make test`; the others run on the
# default one there, and everywhere with WRITESTALL_EVERY_KERNEL=1.
ON_EVERY_KERNEL = {
    "defer-lets-the-submitter-go-on.sh",
    "delays-only-the-submitter.sh",
    "drills-down-to-the-lock.py",
    "engines-agree.py",
    "fsync-waits-for-what-is-deferred.sh",
    "page-locks-are-counted.py",
    "rmmod-while-delaying.sh",
    "stalls-are-counted.py",
    "survives-a-killed-tracer.sh",
    "survives-arming-under-load.py",
    "survives-cycles-under-load.sh",
    "unload-loses-no-deferred-bio.sh",
}
# Each tracer is armed 50 times in all, which the kernels share out: compiling
# bpftrace's script under TCG takes it ten seconds of CPU each time.
VARIANTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "survives-arming-under-load.py": tuple(
        ("--cycles", str(-(-50 // len(KERNELS))), "--engine", engine)
        for engine in ("stap", "bpftrace")
    ),
}
# `make soak`: 500 cycles, on a host so quiet that an unload has its bound, in ms.
if os.environ.get("WRITESTALL_SOAK"):
    VARIANTS["survives-cycles-under-load.sh"] = (("500", "100"),)
# What holds two clocks against each other must have the CPUs for itself: a host that
# takes one away in between tells them apart by that.
ALONE = {"engines-agree.py"}
IS_TEST = re.compile(r'^(?:# |""")This test will ', re.MULTILINE)
# What holds tasks on purpose, so that hung tasks behind it are no complaint.
HOLDERS = r"\[biodelay\]|\[dm_mod\]|dm_"


def _scripts() -> list[tuple[Path, Folder]]:
    return [
        (path, folder)
        for folder in FOLDERS
        for path in sorted((PROJECT / folder.path).iterdir())
        if path.suffix in (".sh", ".py") and IS_TEST.search(path.read_text())
    ]


def _kernels(script: Path) -> tuple[str, ...]:
    if EVERY or script.name in ON_EVERY_KERNEL:
        return KERNELS
    return (recipe.load().default_kernel,)


@dataclass(frozen=True)
class Case:
    """A script on a kernel, with its arguments."""

    script: Path
    arguments: tuple[str, ...]
    kernel: str

    @property
    def machine(self) -> str:
        """What cases that share a machine have in common.

        It stands before the `::` of their ids, which is where pytest-xdist looks for
        those that one worker gets (--dist loadscope).
        """
        return f"{self.script.parent.relative_to(TESTS)} on {self.kernel}"

    @property
    def command(self) -> list[str]:
        """How a machine runs it."""
        interpreter = "python3" if self.script.suffix == ".py" else "bash"
        script = f"{GUEST_PROJECT}/{self.script.relative_to(PROJECT)}"
        return [interpreter, script, *self.arguments]


def _cases() -> list[Any]:
    """Each script, on each of its kernels, with each of its further arguments."""
    return [
        pytest.param(
            case,
            id=f"{case.machine}::{'-'.join((script.name, *more[-1:]))}",
            marks=[pytest.mark.alone] * (script.name in ALONE),
        )
        for script, folder in _scripts()
        for kernel in _kernels(script)
        for more in VARIANTS.get(script.name, ((),))
        for case in (Case(script, (*folder.arguments, *more), kernel),)
    ]


@pytest.fixture(scope="module")
def verdict_on(
    request: pytest.FixtureRequest, artefacts: Callable[[str], Path]
) -> Callable[[Case], Verdict]:
    """The verdict on a case; a machine's first case runs all that were selected."""
    selected = [
        case
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
        for case in item.callspec.params.values()
        if isinstance(case, Case)
    ]
    known: dict[Case, Verdict] = {}

    def verdict(case: Case) -> Verdict:
        if case not in known:
            cases = [one for one in selected if one.machine == case.machine]
            build = f"{artefacts(case.kernel)}:{BUILD}:ro"
            machine = ("--kernel", case.kernel, "--share", build)
            batch = Batch(machine, HOLDERS, LIMIT_S)
            found = batch.verdicts([one.command for one in cases])
            known.update(zip(cases, found, strict=True))
        return known[case]

    return verdict


@pytest.mark.parametrize("case", _cases())
def test_in_the_guest(
    case: Case,
    verdict_on: Callable[[Case], Verdict],
    record_property: Callable[[str, object], None],
) -> None:
    verdict = verdict_on(case)
    record_property(TOOK_S, verdict.took_s)
    assert verdict.good, str(verdict)
