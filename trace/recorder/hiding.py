# SPDX-License-Identifier: GPL-2.0-only
"""hiding: keep a recording in memory until its names are replaced."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from labrun.setup.staging import MEMORY
from recorder.guard import Guard
from writestall.export.redacted.run import redact

NAMED, NAMELESS = "named", "nameless"


def hidden(guard: Guard) -> Path:
    """A folder in memory, deleted if this process is killed."""
    memory = Path(tempfile.mkdtemp(prefix="writestall-run-", dir=MEMORY))
    guard.folder(memory)
    folder = memory / NAMED
    folder.mkdir()
    return folder


def uncover(folder: Path, out: Path) -> None:
    """Write the run without names to the empty folder `out`, and delete this one."""
    nameless = folder.with_name(NAMELESS)
    try:
        redact(folder, nameless)
        shutil.copytree(nameless, out, dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder.parent)
