# SPDX-License-Identifier: GPL-2.0-only
"""kconfig: check a kernel's configuration against vm/writestall.config."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from writestall_base.errors import UserError

FRAGMENT = Path(__file__).resolve().parents[2] / "writestall.config"
OPTION = re.compile(r"^CONFIG_(\w+)=", re.MULTILINE)
SET = re.compile(r"^CONFIG_(\w+)=[ym]$", re.MULTILINE)
# A compiler that is called by its version, as distributions call theirs.
COMPILER = re.compile(r'^CONFIG_CC_VERSION_TEXT="([\w-]*gcc-\d+) ', re.MULTILINE)
NEEDS = "# needs: "
# Of options that a kernel was built without: a fragment may be merged as a whole.
MOST_NAMED = 5


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


def options(config: Path) -> frozenset[str]:
    """The options set in a kernel's configuration, to y or m."""
    return frozenset(SET.findall(config.read_text(errors="replace")))


def compiler(config: Path) -> str | None:
    """The compiler that a kernel was built with, and that its headers call; None if
    that is plain gcc, or unknown.
    """
    found = COMPILER.search(config.read_text(errors="replace"))
    return found[1] if found else None


def _some(names: list[str]) -> str:
    """Options as a message names them: the first of many."""
    some = ", ".join(f"CONFIG_{name}" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{some} and {more} more" if more > 0 else some


def built(config: Path, auto: Path) -> frozenset[str]:
    """The options that a kernel was built with; refuse one built before the last
    change of its configuration.

    `auto` is what the build itself reads, and is made from `config` when it starts.
    """
    there = options(auto)
    if late := sorted(options(config) - there):
        raise UserError(
            f"kernel {config.parent} was built without {_some(late)}, which its"
            f" {config.name} has: run make in {config.parent}"
        )
    return there


def check(config: Path, *fragments: Path) -> frozenset[str]:
    """The options set in a kernel's configuration; refuse one that lacks any.

    Without fragments, it is held against that of every machine.
    """
    there = options(config)
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
