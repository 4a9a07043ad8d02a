# SPDX-License-Identifier: GPL-2.0-only
"""artefacts: find the compiled parts of a run, and build those that are missing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from labrun.injectors import biodelay
from labrun.run import tracer
from labrun.scenario.keys import Scenario
from labrun.workloads import clients
from writestall_base import TREE
from writestall_base.errors import StepError, UserError
from writestall_base.process import tool
from writestall_base.stop import Stop

BUILD_TIMEOUT_S = 1800  # SystemTap's first compilation takes minutes


def missing(
    folder: Path, scenario: Scenario, engines: tuple[str, ...], injector: str | None
) -> list[Path]:
    """List the files that the scenario needs and the folder lacks; `injector` is
    the module of its injector, if it has one.
    """
    kinds = dict.fromkeys(work.kind for work in scenario.workload)
    needed = [
        *(kind for kind in kinds if kind in clients.COMPILED),
        *([injector] if injector else []),
        *(tracer.ENGINES[name].part for name in engines),
    ]
    return [folder / name for name in needed if not (folder / name).is_file()]


# The commands that build each part for the running kernel: words to be filled in.
RECIPES = {
    **dict.fromkeys(clients.COMPILED, ("make -sC {tree}/repro BUILD={folder} {part}",)),
    biodelay.MODULE: (
        "make -sC {tree}/kmod KDIR=/lib/modules/{release}/build",
        "cp {tree}/kmod/{part.name} {part}",
    ),
    f"{tracer.SCRIPT}.ko": ("{tree}/trace/build {part.stem} -o {folder}",),
    "stalled-writes": ("make -sC {tree}/bpf/core BUILD={folder}",),
}


def commands(part: Path) -> list[list[str]]:
    """Return the commands that build a part in its place."""
    known = {"tree": TREE, "release": os.uname().release, "folder": part.parent}
    return [
        [word.format(part=part, **known) for word in line.split()]
        for line in RECIPES[part.name]
    ]


def make(paths: list[Path], stop: Stop, say: Callable[[str], None]) -> None:
    """Build the missing files in place. Raises UserError with the reason."""
    for path in paths:
        say(f"building {path}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for command in commands(path):
                tool(command, BUILD_TIMEOUT_S, stop)
        except (StepError, OSError) as error:
            raise UserError(
                f"{path.name} was not built: {error}; or use --build"
            ) from None
