# SPDX-License-Identifier: GPL-2.0-only
"""stored_run: a run directory that is kept for long, its records compressed."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path


def unpack(stored: Path, to: Path) -> None:
    """Copies a stored run, unpacks its records, and leaves out recorded answers.

    Raises OSError where a file cannot be copied, or a record is no gzip file.
    """
    shutil.copytree(stored, to, ignore=shutil.ignore_patterns("*.gold.*"))
    for packed in to.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
