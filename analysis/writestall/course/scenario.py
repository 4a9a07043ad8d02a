# SPDX-License-Identifier: GPL-2.0-only
"""scenario: a drawn mystery as a scenario file of docs/scenario-format.md."""

from __future__ import annotations

import tomllib
from typing import Any

from writestall.course import checkout
from writestall.course.draw import Drawn
from writestall_base import toml_text

NAME = "mystery"
Table = dict[str, Any]


def table(drawn: Drawn) -> Table:
    """The scenario: that of the cause with what was drawn, and without its name."""
    base = _base(drawn.cause.scenario)
    for rule in base.get("inject", []):
        rule["delay_us"] = round(rule["delay_us"] * drawn.factor)
        rule["probability"] = drawn.share
    if drawn.cause.groups:
        _rename(base, drawn)
    old = base.pop("expect")
    return base | {
        "name": NAME,
        "purpose": "Calls stall, and the course asks why.",
        "seed": drawn.injector_seed,
        "expect": {
            "chain": [],
            "stalled_writes_min": 1,
            "stall_ms_min": 50,
            "writer_untouched": old.get("writer_untouched", True),
        },
    }


def _base(name: str) -> Table:
    """A scenario of the tree, or a variant of it, as the table that its run has."""
    stem, _, wanted = name.partition(":")
    base = tomllib.loads(checkout.scenario(stem).read_text(encoding="utf-8"))
    for variant in base.pop("variant", []):
        if variant["name"] == wanted:
            base |= {"filesystem": variant["filesystem"]}
    return base


def _rename(base: Table, drawn: Drawn) -> None:
    """Give the cgroups their drawn names, and the capped one its limit."""
    old = [one["name"] for one in base["cgroup"]]
    new = dict(zip(old, drawn.cause.groups, strict=True))
    for group in base["cgroup"]:
        group["name"] = new[group["name"]]
        if "io_max" in group:
            group["io_max"] = {"wbps": drawn.wbps}
    for workload in base["workload"]:
        workload["cgroup"] = new[workload["cgroup"]]


def text(drawn: Drawn) -> str:
    """The scenario as TOML, a line for each key."""
    head = "# SPDX-License-Identifier: GPL-2.0-only\n"
    return head + toml_text.file(table(drawn))
