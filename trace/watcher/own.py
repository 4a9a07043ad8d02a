# SPDX-License-Identifier: GPL-2.0-only
"""own: measure what watching costs, and what of it this kernel lacks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from foreign import files
from recorder.tasks import family
from writestall.watch.samples import Cost

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TRACEABLE = Path("/sys/kernel/tracing/available_filter_functions")
# Functions whose probes are left out where a kernel does not have them: bpf/core,
# stap/tapset/ios.stp.
OPTIONAL = ("submit_bio", "bio_endio", "throtl_qnode_add_bio")


class Costs:
    """The costs so far; a process that has ended keeps what it had used."""

    def __init__(self) -> None:
        self._used: dict[str, dict[int, float]] = {}

    def now(self, launcher: int | None) -> Iterator[Cost]:
        """Of this process, and of the launcher and its engine together."""
        yield self._of("watch", [os.getpid()])
        if launcher is not None:
            yield self._of("engine", family(launcher))

    def _of(self, name: str, pids: list[int]) -> Cost:
        used, resident = self._used.setdefault(name, {}), 0
        for pid in pids:
            _, fields = files.stat(pid)
            if fields:
                ticks = int(fields[files.UTIME]) + int(fields[files.STIME])
                used[pid] = ticks / TICKS_PER_S
                resident += int(fields[files.RSS]) * PAGE_BYTES
        return Cost(name, sum(used.values()), resident)


def missing_probes(functions: Path = TRACEABLE) -> list[str]:
    """The functions that are probed where they are there, and are not.

    It takes the kernel half a second: it is read once, before tracing begins.
    """
    try:
        with functions.open() as lines:
            return sorted({*OPTIONAL} - {line.split()[0] for line in lines})
    except OSError:  # no tracefs: not known
        return []
