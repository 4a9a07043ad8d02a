# SPDX-License-Identifier: GPL-2.0-only
"""samples: what is measured of a watched host beside its events."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What a part of the tracer has taken: CPU seconds, and bytes of memory now."""

    process: str
    cpu_s: float
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class Open:
    """Stalls that have not ended: how many, and how long the longest has lasted."""

    count: int = 0
    longest_s: float = 0.0
