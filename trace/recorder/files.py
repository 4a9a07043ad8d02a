# SPDX-License-Identifier: GPL-2.0-only
"""files: read small files of /proc and /sys, which may be missing at any time."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/")


def text(path: Path) -> str | None:
    """The content without blanks around it; None where it cannot be read."""
    try:
        return path.read_text(errors="surrogateescape").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The content as a number; None where there is none."""
    found = text(path)
    return int(found) if found and found.lstrip("-").isdigit() else None
