# SPDX-License-Identifier: GPL-2.0-only
"""leftovers: what a recording or a watch must not leave behind."""

from __future__ import annotations

import time
from pathlib import Path

import lab

ENDED_WITHIN_S = 120
PROGRAMS = ("trace/trace", "staprun", "stapio", "stalled-writes")
COMMANDS = ("writestall record", "writestall watch")


def leftovers() -> list[str]:
    """Modules that are loaded, processes that run, and files in memory."""
    modules = Path("/proc/modules").read_text().splitlines()
    found = [line for line in modules if line.startswith(("stap", "stalled_writes"))]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        words = lab.contents(path).replace("\0", " ")
        if any(name in words for name in (*PROGRAMS, *COMMANDS)):
            found.append(words)
    return found + [str(path) for path in Path("/dev/shm").glob("writestall-run-*")]


def nothing_left(what: str) -> None:
    """Fail if something stays; what was killed may take a moment."""
    deadline_s = time.monotonic() + ENDED_WITHIN_S
    while (left := leftovers()) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    lab.expect(not left, f"{what}: left behind: {left}")
