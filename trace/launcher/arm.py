# SPDX-License-Identifier: GPL-2.0-only
"""arm: register the probes of the loaded drill-down module.

The module registers a kretprobe for each name that is written to its parameter
(tapset/inside.stp). A name with `?` behind it may be refused.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from launcher.errors import TraceError

PARAMETERS = Path("/sys/module/drilldown/parameters")
LOADED_WITHIN_S = 60
REASONS = {
    errno.ENOENT: "the kernel has no such function; it may be inlined",
    errno.EADDRNOTAVAIL: "the kernel has several functions of that name",
    errno.EINVAL: "the kernel forbids a probe there",
    errno.ENOSPC: "too many functions",
}


def _wait_loaded(alive: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LOADED_WITHIN_S
    while not (PARAMETERS / "ready").exists():
        if not alive():
            raise TraceError("drilldown was not loaded: see the error above")
        if time.monotonic() > deadline_s:
            raise TraceError(f"drilldown was not loaded within {LOADED_WITHIN_S} s")
        time.sleep(0.02)


def _probe(name: str) -> None:
    try:
        (PARAMETERS / "function").write_text(name.removesuffix("?"))
    except OSError as error:
        if not name.endswith("?"):
            number = error.errno or 0
            why = REASONS.get(number, error.strerror)
            raise TraceError(f"cannot probe {name}: {why}") from error


def arm(functions: Iterable[str], alive: Callable[[], bool]) -> None:
    """Probe the functions, the root first, and let the module begin."""
    _wait_loaded(alive)
    for name in functions:
        _probe(name)
    (PARAMETERS / "ready").write_text("Y")
