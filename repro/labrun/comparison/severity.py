# SPDX-License-Identifier: GPL-2.0-only
"""severity: make a disk slower or quicker: all of its delays by one factor."""

from __future__ import annotations

import argparse
import re
from typing import Any

from labrun.scenario import delays, rule

LEAST, MOST = 0.01, 100.0
UNCHANGED = 1.0
LONGEST_US = delays.MAX_NS // 1000
_POINT = re.compile(r"(\d+):(\d+)")


def factors(text: str) -> tuple[float, ...]:
    """Parse `0.5,1,2`: without duplicates, the disk as it is first, then rising."""
    try:
        found = {float(word) for word in text.split(",")}
    except ValueError:
        found = {0.0}
    if not all(LEAST <= one <= MOST for one in found):
        raise argparse.ArgumentTypeError(f"{text!r}: want factors like 0.5,1,2")
    return tuple(sorted(found, key=lambda one: (one != UNCHANGED, one)))


def label(factor: float) -> str:
    """The factor in names: `0.5x`."""
    return f"{factor:g}x"


def scaled(inject: dict[str, Any], factor: float) -> dict[str, Any]:
    """The table of a rule (repro/labrun/scenario/rule.py) with other delays, none above
    the longest that the kernel's module takes."""

    def point(at: re.Match[str]) -> str:
        return f"{at[1]}:{min(round(int(at[2]) * factor), delays.MAX_NS)}"

    found = dict(inject)
    if "delay_us" in found:
        found["delay_us"] = min(max(1, round(found["delay_us"] * factor)), LONGEST_US)
    if "delay" in found:
        text = found["delay"]
        whole = text if rule.TABLE.fullmatch(text) else delays.formula(text)
        found["delay"] = _POINT.sub(point, whole)
    if "series" in found:
        found["series"] = [_POINT.sub(point, one) for one in found["series"]]
    return found
