# SPDX-License-Identifier: GPL-2.0-only
"""kept_file: what `repro/crash check` writes of a file, and the comparison reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptFile:
    """The records that a file kept and lost when its machine was reset.

    `lost_ms` is the time between the last write and the last record before the first
    missing one; None if all are missing.
    """

    written: int
    synced: int
    lost: int
    lost_synced: int
    torn: int
    lost_ms: float | None
