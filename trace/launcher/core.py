# SPDX-License-Identifier: GPL-2.0-only
"""core: run the compiled tracer of bpf/core, which prints events itself."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from pathlib import Path

from launcher import printing
from launcher.errors import TraceError
from launcher.options import variables
from launcher.plain_text import Sink
from writestall_base import TREE
from writestall_base.command_line import words

NAME = "stalled-writes"
BUILT = TREE / "build" / NAME
# Its options that are the launcher's, too.
PASSED = tuple(
    "floor_us stall_us series_ms calls_mib pid comm waits waits_comm device path"
    " call".split()
)


def program(given: Path | None = None) -> Path:
    """Return the program: the given one, else the tree's, else the installed one."""
    if given:
        if not os.access(given, os.X_OK) or given.is_dir():
            raise TraceError(f"no program {given}: make core builds one")
        return given.resolve()
    if BUILT.exists():
        return BUILT
    installed = shutil.which(NAME)
    if not installed:
        raise TraceError(
            f"{NAME} is missing: install the package writestall-tracers, or build it"
            " (make core)"
        )
    return Path(installed)


def missing(tracer: Path) -> list[str]:
    """Return the prerequisites that are missing here, each with its remedy."""
    command = [str(tracer), "--check"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        return list(json.loads(done.stdout)["missing"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise TraceError(f"{tracer} does not run: {error}") from error


def check(options: argparse.Namespace) -> None:
    """Refuse what the program does not do."""
    if options.arguments:
        raise TraceError("--arguments belongs to --engine stap")
    program(options.program)


def command(options: argparse.Namespace) -> list[str]:
    variables(options, TREE / f"stap/{options.script}.stp")  # it has the same options
    given = {name: getattr(options, name) for name in (*PASSED, "functions")}
    return [str(program(options.program)), *words(given), options.script]


def trace(options: argparse.Namespace, sink: Sink) -> None:
    """Run the program until it has printed its last event."""
    name = options.script
    if found := missing(program(options.program)):
        raise TraceError(found[0])
    printing.check_ended(name, printing.run("core", name, command(options), sink))
