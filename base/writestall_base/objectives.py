# SPDX-License-Identifier: GPL-2.0-only
"""objectives: parse what an option of a comparison is held to (docs/compare.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from writestall_base.errors import UserError
from writestall_base.units import duration_ns

_OBJECTIVE = re.compile(r"over (\S+) *< *(\d+\.?\d*) *%")
_FACTOR = re.compile(r"(\d+\.?\d*)x")


@dataclass(frozen=True, slots=True)
class Objective:
    """Less than this share of requests (0 to 1) takes longer than `slo_ns`."""

    slo_ns: int
    share: float
    text: str


def parse_objective(text: str) -> Objective:
    """Parse `over 65ms < 0.1%`; raise UserError if it is none."""
    found = _OBJECTIVE.fullmatch(text.strip())
    slo_ns = duration_ns(found[1]) if found else None
    share = float(found[2]) / 100 if found else 0.0
    if not slo_ns or not 0 < share < 1:
        raise UserError(f"--objective {text}: want one like 'over 65ms < 0.1%'")
    return Objective(round(slo_ns), share, text.strip())


def parse_factor(option: str, text: str, above: int = 1) -> float:
    """Parse `1.2x`; raise UserError, which names the option, if it is none."""
    found = _FACTOR.fullmatch(text.strip())
    if not found or float(found[1]) <= above:
        raise UserError(f"{option} {text}: want a factor above {above}, like 1.2x")
    return float(found[1])
