# SPDX-License-Identifier: GPL-2.0-only
"""kconfig: check a kernel's configuration against vm/writestall.config."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from machine.errors import UserError

FRAGMENT = Path(__file__).resolve().parents[2] / "writestall.config"
OPTION = re.compile(r"^CONFIG_(\w+)=", re.MULTILINE)
SET = re.compile(r"^CONFIG_(\w+)=[ym]$", re.MULTILINE)
NEEDS = "# needs: "


@cache
def needed(fragment: Path = FRAGMENT) -> dict[str, str]:
    """The options that the machine cannot do without, and the reason of each."""
    table: dict[str, str] = {}
    for group in fragment.read_text().split("\n\n"):
        comment, _, options = group.partition("\n")
        if comment.startswith(NEEDS):
            reason = comment.removeprefix(NEEDS)
            table |= dict.fromkeys(OPTION.findall(options), reason)
    return table


def check(config: Path, *fragments: Path) -> frozenset[str]:
    """The options set in a kernel's configuration; refuse one that lacks any.

    Without fragments, it is held against that of every machine.
    """
    there = frozenset(SET.findall(config.read_text(errors="replace")))
    for fragment in fragments or (FRAGMENT,):
        table = needed(fragment)
        lacking = [name for name in table if name not in there]
        if lacking:
            names = ", ".join(f"CONFIG_{name}" for name in lacking)
            why = "; ".join(dict.fromkeys(table[name] for name in lacking))
            raise UserError(
                f"{config} lacks {names} ({why}): merge {fragment} into it and make"
            )
    return there
