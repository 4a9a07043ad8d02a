# SPDX-License-Identifier: GPL-2.0-only
"""own_kernels: count the tests that ran on kernels outside vm/kernels.toml.

Nobody else can run them on the same tree again, so a row says what was run on which
tree and configuration, and when.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from driver import pages
from machine import recipe

# How pytest names a test in a guest, on a machine with others or alone on one
# (tests/guest/test_guest_scripts.py, Case.machine and _cases()), and a scenario's
# (tests/lab/test_scenarios.py, case()).
GUEST = (
    r"test_in_the_guest\[{suite}(?:/\S+)? on (?:each kernel::(?P<alone>.+) on )?"
    r"(?P<kernel>[^: \]]+)(?:[^:]*::(?P<test>.+))?\]"
)
SUITES = {
    "tests/kmod": re.compile(GUEST.format(suite="kmod")),
    "tests/scripts": re.compile(GUEST.format(suite="scripts")),
    "tests/repro/guest": re.compile(GUEST.format(suite="repro/guest")),
    "scenarios": re.compile(
        r"test_its_chain_appears\[(?P<test>[^:]+)::(?P<kernel>[^\]]+)\]"
    ),
}
HEAD = ("kernel", "tree and configuration", "tests", "passed", "failed", "date")
Row = dict[str, Any]


def names(rows: Iterable[Row]) -> list[str]:
    """The kernels with a row of a suite, the oldest first."""
    found = {row["kernel"] for row in rows if "suite" in row}
    return sorted(found, key=lambda name: [*map(int, re.findall(r"\d+", name))])


def counted(junit: Path, date: str, configuration: str | None) -> Iterator[Row]:
    """A row for each suite that ran on such a kernel."""
    suites: dict[tuple[str, str], Row] = {}
    known = recipe.load(full=True).kernels
    for case in ElementTree.parse(junit).iter("testcase"):
        for suite, pattern in SUITES.items():
            named = pattern.match(case.get("name", ""))
            if (
                not named
                or named["kernel"] in known
                or case.find("skipped") is not None
            ):
                continue
            row = suites.setdefault(
                (named["kernel"], suite),
                {"suite": suite, "kernel": named["kernel"], "date": date}
                | {"configuration": configuration or "", "passed": 0, "failed": []},
            )
            bad = case.find("failure") is not None or case.find("error") is not None
            row["failed"] += [named["test"] or named.groupdict()["alone"]] * bad
            row["passed"] += not bad
    yield from suites.values()


def table(rows: Iterable[Row]) -> str:
    """The rows as a table of the document, by kernel."""
    rows = list(rows)
    return pages.table(
        HEAD,
        (
            (
                *(row["kernel"], row["configuration"], row["suite"]),
                *(str(row["passed"]), ", ".join(row["failed"]), row["date"]),
            )
            for kernel in names(rows)
            for row in rows
            if "suite" in row and row["kernel"] == kernel
        ),
    )
