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


def _program(target: Path) -> list[list[str]]:
    folder = str(TREE / "repro")
    return [["make", "-sC", folder, f"BUILD={target.parent}", str(target)]]


def _biodelay(target: Path) -> list[list[str]]:
    kernel = f"KDIR=/lib/modules/{os.uname().release}/build"
    built = str(TREE / "kmod" / target.name)
    return [["make", "-sC", str(TREE / "kmod"), kernel], ["cp", built, str(target)]]


def _core(target: Path) -> list[list[str]]:
    return [["make", "-sC", str(TREE / "bpf/core"), f"BUILD={target.parent}"]]


def _script(target: Path) -> list[list[str]]:
    return [[str(TREE / "trace/build"), target.stem, "-o", str(target.parent)]]


# The commands that build each part for the running kernel.
RECIPES: dict[str, Callable[[Path], list[list[str]]]] = {
    **dict.fromkeys(clients.COMPILED, _program),
    biodelay.MODULE: _biodelay,
    f"{tracer.SCRIPT}.ko": _script,
    "stalled-writes": _core,
}


def make(paths: list[Path], stop: Stop, say: Callable[[str], None]) -> None:
    """Build the missing files in place. Raises UserError with the reason."""
    for path in paths:
        say(f"building {path}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for command in RECIPES[path.name](path):
                tool(command, BUILD_TIMEOUT_S, stop)
        except (StepError, OSError) as error:
            raise UserError(
                f"{path.name} was not built: {error}; or use --build"
            ) from None
