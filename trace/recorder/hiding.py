# SPDX-License-Identifier: GPL-2.0-only
"""hiding: keep a recording in memory until its names are replaced."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from labrun.setup.staging import MEMORY
from recorder.guard import Guard
from writestall.export.redacted.run import redact


def hidden(guard: Guard) -> Path:
    """A folder in memory, deleted if this process is killed."""
    folder = Path(tempfile.mkdtemp(prefix="writestall-run-", dir=MEMORY))
    guard.folder(folder)
    return folder


def uncover(folder: Path, out: Path) -> None:
    """Write the run without names to the empty folder `out`, and delete this one."""
    out.rmdir()
    try:
        redact(folder, out)
    finally:
        shutil.rmtree(folder)
