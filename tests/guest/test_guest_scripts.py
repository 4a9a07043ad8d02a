# SPDX-License-Identifier: GPL-2.0-only
"""test_guest_scripts: run every script that tests inside a guest, on every kernel.

A script is a file of one of the folders below whose first comment or docstring begins
with "This test will"; the others are their libraries. Its status is the verdict, but a
complaint of the kernel overrides it. The scripts of one folder on one kernel share a
machine, or a few, until one fails (batch.py).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batch import TOOK_S, Batch, Command, Verdict
from machine import accel, image, recipe
from machine.own import find
from machine.run import GUEST_PROJECT
from support import DEFAULT, EVERY, KERNELS, OWN, PROJECT, kernel_name
from writestall_base.releases import version

TESTS = PROJECT / "tests"
BUILD = "/mnt/build"
# What scripts import in addition to the modules of their folder.
IMPORTED = "PYTHONPATH=" + ":".join(
    f"{GUEST_PROJECT}/{name}" for name in ("base", "repro", "tests/scripts")
)
# Limit of one script; those on a machine of their own take minutes on a quiet host.
LIMIT_S = 600
OWN_LIMIT_S = 1500


@dataclass(frozen=True)
class Folder:
    """A folder of guest scripts, their arguments, whether an emulated machine's clock
    may count instructions, how many machines of a kernel share them, and the oldest
    kernel that they are written for."""

    path: str
    arguments: tuple[str, ...]
    counted: bool = True
    machines: int = 1
    since: tuple[int, int] = (0, 0)


# The injector's tests need CPUs that run concurrently. The others compare clocks, which
# differ when the host suspends a CPU. The longest comes first, for it is one worker's.
# Before Linux 4.19 the injector has mode=spin alone (kmod/README.md), and the scenario
# that the others run has no chain.
FOLDERS = (
    Folder("tests/scripts", ("--modules", f"{BUILD}/stap"), machines=3),
    Folder("tests/kmod", (f"{BUILD}/biodelay.ko", "/dev/vdb"), False, since=(4, 19)),
    Folder("tests/repro/guest", ("--build", BUILD), since=(4, 19)),
)
# What `make test` runs on every kernel: injector, unload; and on the newest alone, so
# that each kernel has a machine for half of the tracers' scripts. The others run on the
# default kernel there, and everywhere with --every-kernel.
ON_EVERY_KERNEL = {
    "delays-only-the-submitter.sh",
    "rmmod-while-delaying.sh",
}
ON_THE_NEWEST = {
    "arms-as-fast-with-many-modules.py",
    "drills-down-to-the-lock.py",
    "each-sync-is-its-own.py",
    "events-name-their-cgroup.py",
    "ios-name-their-submitter.py",
    "locks-name-their-holder.py",
    "probes-run-for-every-task.py",
    "stalls-are-counted.py",
    "user-stacks-have-names.py",
    "waits-end-with-the-tracer.py",
    "waits-of-the-chosen-are-listed.py",
}
# What `make test` leaves to `make test-all`, and why: scripts, or their VARIANTS.
FULL_IMAGE = "needs the tools of vm/packages-full.txt, and with them the full image"
STRESS = "repeats for minutes what others do once"
OTHER_WAY = "another mode, probe, engine or disk than the same test's in make test"
ON_DEMAND = {
    "agrees-with-witnesses.py": FULL_IMAGE,
    "delays-follow-the-distribution.sh": STRESS,
    "disarms-at-once-under-load.sh": STRESS,
    "drills-down-to-the-lock.py-xfs": OTHER_WAY,
    "record-ends-in-order.py-stap": OTHER_WAY,
    "each-script-works-or-refuses.py": "makes a table of what the others show, too",
    "every-call-is-listed.py": "one stall for each system call and engine",
    "fails-at-every-command.py": "a run for each command of a run, which fails",
    "lessons-answer-their-question.py": "every lesson with its own engine's command",
    "plain-commands-run.py": "every script with its own engine's command",
    "refused-load-keeps-no-memory.sh": STRESS,
    "delays-only-the-submitter.sh-defer spin": OTHER_WAY,
    "selects-only-what-was-named.sh-defer spin": OTHER_WAY,
    "shares-the-probe-with-tracers.sh-kprobe fexit:vmlinux": OTHER_WAY,
    "survives-a-storm-of-failing-loads.py": STRESS,
    "survives-arming-under-load.py": STRESS,
    "survives-cycles-under-load.sh": STRESS,
    "survives-storms-of-closes.py": STRESS,
    "survives-unloads-under-hazards.py": STRESS,
    "tracepoint-is-read-by-tracers.sh": FULL_IMAGE,
    "undoes-every-step.py": "a run for each step of a run, which is interrupted",
    "works-by-breakpoint.sh-selects": OTHER_WAY,
}
# How often each engine's tracer is armed in total, divided between the kernels.
ARMED = {"stap": 50, "core": 50}
VARIANTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "survives-arming-under-load.py": tuple(
        ("--cycles", str(-(-times // len(KERNELS))), "--engine", engine)
        for engine, times in ARMED.items()
    ),
    "record-ends-in-order.py": tuple(("--engine", engine) for engine in ARMED),
    "delays-only-the-submitter.sh": (("sleep",), ("defer spin",)),
    "drills-down-to-the-lock.py": ((), ("--fs", "xfs")),
    "selects-only-what-was-named.sh": (("sleep",), ("defer spin",)),
    "shares-the-probe-with-tracers.sh": (
        ("fentry:vmlinux",),
        ("kprobe fexit:vmlinux",),
    ),
    "undoes-every-step.py": (
        (),
        *[("--injector", name) for name in ("dm-delay", "scsi_debug") if EVERY],
    ),
    "works-by-breakpoint.sh": (("does",), ("selects",)),
}
# `make soak`: 10,000 disarms; 500 cycles, on concurrent CPUs, and with a clock
# independent of the host, for which an unload has a bound, in ms. An emulated machine
# takes 2 to 5 s for each.
BOUNDED = ("500", "100")
if os.environ.get("WRITESTALL_SOAK"):
    VARIANTS["survives-cycles-under-load.sh"] = (BOUNDED[:1], BOUNDED)
    VARIANTS["disarms-at-once-under-load.sh"] = (("10000",),)
    LIMIT_S = OWN_LIMIT_S = 7200
# A kernel that checks itself needs more of both.
CHECKED = find.named(OWN or "") and find.find(str(OWN)).checks_itself
CHECKED_MACHINE = ("--memory", "4G") if CHECKED else ()
if CHECKED:
    LIMIT_S = OWN_LIMIT_S = 3600
# Tests that need concurrent CPUs: they patch the kernel's text while other CPUs run it,
# or close files that other CPUs look at.
NOT_COUNTED = {"survives-arming-under-load.py", "survives-storms-of-closes.py"}
# Tests that take minutes, or need what others do not, have their own machine: on a
# shared one they would delay the end of all tests.
OWN_MACHINE = {
    "every-call-is-listed.py",
    "record-ends-in-order.py",
    "says-the-arguments.py",
    "survives-arming-under-load.py",
    "survives-storms-of-closes.py",
    "undoes-every-step.py",
}
# Tests that need the kernel's debuginfo, 1 GB and 6.8 GB unpacked: that of this host,
# or that of another folder like /usr/lib/debug. A compiler that reads it needs more
# memory.
NEEDS_DEBUGINFO = {"says-the-arguments.py"}
DEBUG = Path(os.environ.get("WRITESTALL_DEBUGINFO", "/usr/lib/debug"))
DEBUG_MACHINE = ("--memory", "4G", "--share", f"{DEBUG}:/usr/lib/debug:ro")
# Kernels that scripts are written for, where not that of their folder. The oldest of
# vm/kernels.toml for which the lessons are written, and that on which BPF programs
# number files (trace/recorder/targets.py).
NEW_ENOUGH = {
    "failing-load-cannot-be-entered.sh": (4, 4),
    "parameters-may-be-written-while-loading.sh": (4, 4),
    "puts-back-what-was-in-force.py": (4, 4),
    "starts-from-bytecode.sh": (4, 4),
    "kept-calls-are-complete.py": (5, 12),
    "lessons-answer-their-question.py": (6, 12),
}
# Tests of bpf/core, or with fentry of bpftrace's: both need BTF; all kernels of
# vm/kernels.toml have it.
NEEDS_TYPES = {
    "agrees-with-witnesses.py",
    "bios-know-their-queue.py",
    "core-counts-what-it-loses.py",
    "core-says-what-it-lacks.py",
    "engines-agree.py",
    "probes-run-for-every-task.py",
    "shares-the-probe-with-tracers.sh",
    "survives-a-killed-tracer.sh",
}
# Tests of an injector that are no race between CPUs, but have a bound in time: a host
# that stops a machine for seconds must not count.
TIMED = {
    "delays-only-the-submitter.sh",
    "disarm-releases-a-late-deferral.sh",
    "disarm-releases-at-once.sh",
    "disarm-waits-for-no-other-rule.sh",
    "fsync-waits-for-what-is-deferred.sh",
    "rmmod-while-delaying.sh",
    "rule-disarms-itself.sh",
    "unload-loses-no-deferred-bio.sh",
}
IS_TEST = re.compile(r'^(?:# |""")This test will ', re.MULTILINE)
# Tests that hold tasks on purpose, so that hung tasks are not a complaint.
HOLDERS = r"\[biodelay\]|\[dm_mod\]|dm_"
# The lines of the kernel, of level warning or worse, that a script causes on purpose.
EXPECTS = re.compile(r"^# expects: (.+)$", re.MULTILINE)
# What a script has found out about its kernel, for docs/kernel-support.md.
FOUND = re.compile(r"^support: (\{.*\})$", re.MULTILINE)


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
    return KERNELS[-1:] if script.name in ON_THE_NEWEST else (DEFAULT,)


@dataclass(frozen=True)
class Case:
    """A script on a kernel, with its arguments."""

    script: Path
    arguments: tuple[str, ...]
    kernel: str
    counted: bool
    part: int = 0  # of its folder's scripts on that kernel

    @property
    def machine(self) -> str:
        """What cases that share a machine have in common."""
        kernel = kernel_name(self.kernel) + " in the full image" * self.full
        kernel += " by counted time" * (self.script.name in TIMED)
        what = self.script if self.own else self.script.parent
        part = f" ({self.part + 1})" if self.part and not self.own else ""
        return f"{what.relative_to(TESTS)}{part} on {kernel}"

    @property
    def worker(self) -> str:
        """What the cases of one worker have in common; it runs them one after the
        other.

        It precedes the `::` of their ids (pytest-xdist, --dist loadscope). Two machines
        that compile all the time would slow each other down by a third.
        """
        name = str(self.script.relative_to(TESTS))
        return f"{name} on each kernel" if self.own else self.machine

    @property
    def own(self) -> bool:
        """Whether it has its own machine."""
        bounded = self.arguments[-len(BOUNDED) :] == BOUNDED
        return bounded or self.script.name in OWN_MACHINE

    @property
    def full(self) -> bool:
        """Whether it needs the full image's tools."""
        return ON_DEMAND.get(self.script.name) == FULL_IMAGE

    @property
    def accelerator(self) -> str | None:
        """The accelerator that its machine needs; None: the host's default."""
        known = recipe.load(self.kernel)
        kernel = image.kernel(known)
        return accel.counting(known, kernel, "icount") if self.counted else None

    @property
    def command(self) -> Command:
        """How to run it on a machine."""
        interpreter = "python3" if self.script.suffix == ".py" else "bash"
        script = f"{GUEST_PROJECT}/{self.script.relative_to(PROJECT)}"
        words = ["env", IMPORTED, interpreter, script, *self.arguments]
        expected = EXPECTS.findall(self.script.read_text())
        return Command(words, expected, self.script.name)


def _lacking_debuginfo(name: str) -> str:
    """Why a kernel's debuginfo is missing; empty if it is there."""
    known = recipe.load(name)
    release = image.kernel(known).release if image.built_tree(known) else name
    if (DEBUG / "lib/modules" / release / "vmlinux").exists():
        return ""
    return (
        f"no debuginfo of {release} in {DEBUG}: linux-image-{release}-dbg has it;"
        " WRITESTALL_DEBUGINFO names another place"
    )


def _variant(script: Path, more: tuple[str, ...]) -> str:
    """The name of a script with the last of its further arguments."""
    return "-".join((script.name, *more[-1:]))


def _marks(
    script: Path, folder: Folder, kernel: str, more: tuple[str, ...]
) -> list[pytest.MarkDecorator]:
    marks = []
    since = NEW_ENOUGH.get(script.name, folder.since)
    if version(kernel_name(kernel)) < since:
        reason = "written for Linux {}.{} and newer".format(*since)
        marks.append(pytest.mark.skip(reason=reason))
    types = script.name in NEEDS_TYPES or "core" in more
    if types and not recipe.load(kernel).has_core:
        reason = f"kernel {kernel} has no BTF, or is older than Linux 5.10"
        marks.append(pytest.mark.skip(reason=reason))
    if script.name in NEEDS_DEBUGINFO and (lacking := _lacking_debuginfo(kernel)):
        marks.append(pytest.mark.skip(reason=lacking))
    if later := ON_DEMAND.get(script.name) or ON_DEMAND.get(_variant(script, more)):
        marks.append(pytest.mark.on_demand(later))
        if later == FULL_IMAGE and OWN:
            marks.append(pytest.mark.skip(reason=later))
    if script.name in OWN_MACHINE:
        marks.append(pytest.mark.first)
    return marks


def _may_count(folder: Folder, script: Path, more: tuple[str, ...]) -> bool:
    """Whether an emulated machine's clock may count instructions."""
    counted = folder.counted or script.name in TIMED
    return more == BOUNDED or (counted and script.name not in NOT_COUNTED)


def _cases() -> list[Any]:
    """Each script, on each of its kernels, with each of its further arguments."""
    dealt = Counter[tuple[Folder, str]]()
    cases = []
    for script, folder in _scripts():
        for kernel in _kernels(script):
            part = dealt[folder, kernel] % folder.machines
            dealt[folder, kernel] += 1
            for more in VARIANTS.get(script.name, ((),)):
                counted = _may_count(folder, script, more)
                words = (*folder.arguments, *more)
                case = Case(script, words, kernel, counted, part)
                which = f" on {kernel_name(kernel)}" * case.own
                name = f"{case.worker}::{_variant(script, more)}{which}"
                marks = _marks(script, folder, kernel, more)
                cases.append(pytest.param(case, id=name, marks=marks))
    return cases


def _told(request: pytest.FixtureRequest, machine: str, line: str) -> None:
    """Print what a machine has done, past pytest's capture; a worker prints nothing."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{machine}: {line}", end="", flush=True)


@pytest.fixture(scope="module")
def verdict_on(
    request: pytest.FixtureRequest, artefacts: Callable[[str], Path]
) -> Callable[[Case], Verdict]:
    """The verdict on a case; the first case of a machine runs all that are selected."""
    selected = [
        case
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
        if not item.get_closest_marker("skip")
        for case in item.callspec.params.values()
        if isinstance(case, Case)
    ]
    known: dict[Case, Verdict] = {}

    def verdict(case: Case) -> Verdict:
        if case not in known:
            cases = [one for one in selected if one.machine == case.machine]
            tell = partial(_told, request, case.machine)
            if not known:
                tell("compiling what the tests need")
            build = f"{artefacts(case.kernel)}:{BUILD}:ro"
            image = ["--full"] * case.full
            more = DEBUG_MACHINE if case.script.name in NEEDS_DEBUGINFO else ()
            machine = ("--kernel", case.kernel, *image, "--share", build, *more)
            machine += CHECKED_MACHINE
            limit_s = OWN_LIMIT_S if case.own else LIMIT_S
            batch = Batch(machine, HOLDERS, limit_s, case.accelerator, tell)
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
    for found in FOUND.findall(verdict.output):
        record_property("support", found)
    assert verdict.good, str(verdict)
    print(verdict.output)  # shown by -rP
