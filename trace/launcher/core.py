# SPDX-License-Identifier: GPL-2.0-only
"""core: run the compiled tracer of bpf/core, which prints events itself."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from pathlib import Path

from launcher import printing
from launcher.errors import TraceError
from launcher.options import check_choice
from launcher.plain_text import Sink
from writestall_base import TREE

SCRIPT = "stalled_writes"
SCRIPTS = [SCRIPT]
NAME = "stalled-writes"
BUILT = TREE / "build" / NAME
# Its options that are the launcher's, too.
PASSED = ("floor_us", "stall_us", "pid", "comm", "device", "path", "call")


# The first kernel that runs a raw tracepoint's program on request (1b4d60ec162f, "bpf:
# Enable BPF_PROG_TEST_RUN for raw_tracepoint"), by which the registers are found.
OLDEST = 5, 10


def check_kernel(release: str) -> None:
    """Refuse a kernel that is older than the program can do with."""
    major, minor = re.findall(r"\d+", release)[:2]
    if (int(major), int(minor)) < OLDEST:
        raise TraceError(
            f"{NAME} needs Linux {OLDEST[0]}.{OLDEST[1]}, and this is {release};"
            " use --engine stap"
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


def check(options: argparse.Namespace) -> None:
    """Refuse what the program does not do."""
    if options.script != SCRIPT:
        raise TraceError(
            f"{options.script}: core knows {SCRIPT} alone; use --engine stap"
        )
    if options.functions or options.arguments:
        raise TraceError("--functions and --arguments belong to --engine stap")
    if options.text:
        raise TraceError(f"{SCRIPT} has no -v; slow_writes has")
    check_kernel(os.uname().release)
    program(options.program)


def command(options: argparse.Namespace) -> list[str]:
    """Return the program's command line."""
    check_choice(options)
    given = [(name, getattr(options, name)) for name in PASSED]
    words = [
        word
        for name, value in given
        if value is not None
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    return [str(program(options.program)), *words]


def trace(options: argparse.Namespace, sink: Sink) -> None:
    """Run the program until it has printed its last event."""
    printing.check_ended(SCRIPT, printing.run("core", SCRIPT, command(options), sink))
