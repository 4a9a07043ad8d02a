# SPDX-License-Identifier: GPL-2.0-only
"""machines: prepare a machine's parts, and run a command in it."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver.commands import setup
from driver.progress import Progress, Stage
from driver.project import PROJECT, tool
from driver.settings import Settings
from machine.commands import ends_with_us
from writestall_base.command_line import words

FULL = "--full"  # the image with the tools that only measurements need
# The stages before the first machine boots: prepare().
PREPARING = (
    Stage("set-up", "install what it names, then run this again"),
    Stage("qemu", "check that the Debian mirror can be reached: make doctor"),
    Stage("image", "check the mirror and the disk space: make doctor"),
    Stage("accelerator", "choose one with --accel tcg (make: ACCEL=tcg)"),
    Stage("compile", "fix the first error in the log"),
)
# Where the guest sees the one folder that it may write to.
OUT = "/mnt/out"
# Calls of our own programs that run at the same time.
Calls = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Needs:
    """What a machine must have besides the image and its own shares."""

    packages: tuple[str, ...] = ()
    memory_mib: int | None = None  # None: the default of vm/vm
    shares: tuple[str, ...] = ()  # as vm/vm run takes them
    jars: str | None = None  # NAME of a list in repro/apps

    @staticmethod
    def of(table: dict[str, Any]) -> Needs:
        """Those of a scenario's `machine` table."""
        return Needs(
            tuple(table.get("packages", ())),
            table.get("memory_mib"),
            jars=table.get("jars"),
        )

    @property
    def options(self) -> list[str]:
        """The options of vm/vm run."""
        memory = f"{self.memory_mib}M" if self.memory_mib else None
        shares = [word for share in self.shares for word in ("--share", share)]
        return [*words(self._parts | {"memory": memory}), *shares]

    @property
    def build(self) -> list[str]:
        """The words of vm/vm build that build its layer and fetch its jars."""
        parts = ["layer"] * bool(self.packages) + ["jars"] * bool(self.jars)
        return [*words(self._parts), *parts]

    @property
    def _parts(self) -> dict[str, Any]:
        listed = PROJECT / "repro/apps" / f"{self.jars}.jars"
        packages = ",".join(self.packages) or None
        return {"packages": packages, "jars": listed if self.jars else None}


@dataclass(frozen=True)
class Records:
    """Where a machine's console and verdict go, and its time limit."""

    console: Path
    result: Path
    limit_s: int


def machine_command(
    settings: Settings,
    out: Path,
    artefacts: str,
    records: Records,
    command: list[str],
    *more: str,
) -> list[str]:
    """The command line that runs a command in a machine and ends with this process.

    The guest sees the folder `out` at OUT and the compiled parts at /mnt/build;
    `more` are options of vm/vm run.
    """
    machine = tool("vm/vm", "run", "--kernel", settings.kernel)
    machine += [*settings.accel_options, *more, "--timeout", str(records.limit_s)]
    machine += ["--share", f"{out}:{OUT}"]
    machine += ["--share", f"{artefacts}:/mnt/build:ro"]
    machine += ["--console", str(records.console), "--result", str(records.result)]
    # biodelay delays tasks on purpose, and others wait for them.
    machine += ["--excuse", r"\[biodelay\]"]
    return ends_with_us(signal.SIGTERM, [*machine, "--", *command])


def run_tools(progress: Progress, stages: Iterable[Calls]) -> str:
    """Run one stage after the other; return the last line of the last one."""
    for calls in stages:
        with progress.stage() as log:
            log.run(*(tool(*call) for call in calls))
            log.note = log.last_line()
    return log.note


def machine_parts(
    kernels: Sequence[str], accel_options: Sequence[str] = (), *image: str
) -> tuple[Calls, ...]:
    """The calls of each stage of PREPARING after the set-up."""
    parts = (*image, "tree", "disk", "kernels")
    return (
        (("vm/vm", "build", "qemu"),),
        tuple(("vm/vm", "build", "-k", name, *parts) for name in kernels),
        (("vm/vm", "build", *accel_options, "accel"),),
        tuple(("writestall", "build", "--kernel", name) for name in kernels),
    )


def prepare(
    progress: Progress,
    settings: Settings,
    extras: tuple[str, ...] = (),
    *image: str,
    kernels: Sequence[str] = (),
) -> tuple[Path, str]:
    """Run the stages of PREPARING; return the analysis' Python and the artefacts.

    With `kernels`, for each of them; the artefacts are the last one's.
    """
    with progress.stage() as log:
        log.note = setup.packages(("lab",))
        python = setup.python(extras)
    parts = machine_parts(kernels or (settings.kernel,), settings.accel_options, *image)
    return python, run_tools(progress, parts)
