# SPDX-License-Identifier: GPL-2.0-only
"""kernel_support: record which script works on which kernel, from the guest tests.

docs/kernel-support.json has a row for each script, engine and kernel with the result
of its last test, and one for each test of the scripts; docs/kernel-support.md and
`make doctor` show them.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from driver import pages, results
from driver.project import PROJECT
from machine import recipe
from writestall_base.errors import UserError
from writestall_base.units import aligned

DOCUMENT = "kernel-support"
ENGINES = ("stap", "core")
Row = dict[str, Any]
Column = tuple[str, str]  # a kernel, and the configuration of one's own
# Tests on kernels outside vm/kernels.toml are counted: nobody else can run them on the
# same tree again, so a row says what was run on which tree and configuration, and when.
# How pytest names a test in a guest, on one of the machines with others or alone on one
# (tests/guest/test_guest_scripts.py, Case.machine and _cases()), and a scenario's
# (tests/lab/test_scenarios.py, case()).
GUEST = (
    r"test_in_the_guest\[{suite}(?:/\S+| \(\d+\))? on "
    r"(?:each kernel::(?P<alone>.+) on )?"
    r"(?P<kernel>[^: \]]+)(?:[^:]*::(?P<test>.+))?\]"
)
SCRIPTS = re.compile(GUEST.format(suite="scripts"))
SUITES = {
    "tests/kmod": re.compile(GUEST.format(suite="kmod")),
    "tests/scripts": SCRIPTS,
    "tests/repro/guest": re.compile(GUEST.format(suite="repro/guest")),
    "scenarios": re.compile(
        r"test_its_chain_appears\[(?P<test>[^:]+)::(?P<kernel>[^\]]+)\]"
    ),
}
HEAD = ("kernel", "tree and configuration", "tests", "passed", "failed", "date")


def own_names(rows: Iterable[Row]) -> list[str]:
    """The kernels with a row of a suite, the oldest first."""
    found = {row["kernel"] for row in rows if "suite" in row}
    return sorted(found, key=lambda name: [*map(int, re.findall(r"\d+", name))])


def name_of(named: re.Match[str]) -> str:
    found = named.groupdict()
    return str(found["test"] or found["alone"])


def counted(junit: Path, date: str, configuration: str | None) -> Iterator[Row]:
    """A row for each suite that ran on such a kernel."""
    suites: dict[tuple[str, str], Row] = {}
    known = recipe.load(full=True).kernels
    for case in ElementTree.parse(junit).iter("testcase"):
        for suite, pattern in SUITES.items():
            named = pattern.match(case.get("name", ""))
            skipped = results.ended(case) == results.SKIPPED
            if not named or named["kernel"] in known or skipped:
                continue
            row = suites.setdefault(
                (named["kernel"], suite),
                {"suite": suite, "kernel": named["kernel"], "date": date}
                | {"configuration": configuration or "", "passed": 0, "failed": []},
            )
            bad = results.ended(case) in results.BAD
            row["failed"] += [name_of(named)] * bad
            row["passed"] += not bad
    yield from suites.values()


def own_table(rows: Iterable[Row]) -> str:
    """The rows as a table of the document, by kernel."""
    rows = list(rows)
    return pages.table(
        HEAD,
        (
            (
                *(row["kernel"], row["configuration"], row["suite"]),
                *(str(row["passed"]), ", ".join(row["failed"]), row["date"]),
            )
            for kernel in own_names(rows)
            for row in rows
            if "suite" in row and row["kernel"] == kernel
        ),
    )


def scripts() -> list[str]:
    return sorted(path.stem for path in PROJECT.glob("stap/*.stp"))


def recorded(junit: Path, date: str, configuration: str | None) -> Iterator[Row]:
    """The rows of a JUnit file: one for each test of scripts and each result."""
    known = recipe.load(full=True).kernels
    for case in ElementTree.parse(junit).iter("testcase"):
        named = SCRIPTS.fullmatch(case.get("name", ""))
        ended = results.ended(case)
        if not named or ended == results.SKIPPED:
            continue
        own = {} if named["kernel"] in known else {"configuration": configuration or ""}
        row = {"kernel": named["kernel"], "test": name_of(named), "date": date}
        yield {**row, "passed": ended == results.PASSED, **own}
        for found in case.iter("property"):
            if found.get("name") == "support":
                row = json.loads(found.get("value", ""))
                yield {**row, "kernel": named["kernel"], "date": date, **own}


def key(row: Row) -> tuple[str, ...]:
    """The key of a row: a later row with the same one replaces it."""
    names = ("test", "script", "engine", "suite", "kernel", "configuration")
    return tuple(row.get(name, "") for name in names)


def column(row: Row) -> Column:
    return row["kernel"], row.get("configuration", "")


def cell(row: Row | None, refusals: list[str]) -> str:
    """The result in a word; a refusal gets a number."""
    if row is None:
        return "not tried"
    if "fails" in row:
        return "fails"
    if not row["refuses"]:
        return "works"
    if row["refuses"] not in refusals:
        refusals.append(row["refuses"])
    return f"refuses ({refusals.index(row['refuses']) + 1})"


def columns(rows: list[Row]) -> list[Column]:
    """The kernels of the tables: those that the image can have, and each configuration
    of others that has a row in them.
    """
    there = {column(row) for row in rows if "suite" not in row}
    own = [
        pair for name in own_names(rows) for pair in sorted(there) if pair[0] == name
    ]
    return [*own, *((name, "") for name in recipe.load(full=True).kernels)]


def heads(kernels: list[Column]) -> list[str]:
    """What the columns are called: a configuration is named where there are several."""
    count = Counter(kernel for kernel, _ in kernels)
    return [f"{k} ({how})" if count[k] > 1 else k for k, how in kernels]


def matrix(rows: list[Row]) -> tuple[list[str], list[list[str]], list[str]]:
    """Head, lines and refusals of the table of scripts."""
    kernels = columns(rows)
    there = {
        (row["script"], row["engine"], column(row)): row
        for row in rows
        if "script" in row
    }
    refusals: list[str] = []
    lines = [
        [script, engine]
        + [cell(there.get((script, engine, k)), refusals) for k in kernels]
        for script in scripts()
        for engine in ENGINES
    ]
    return ["script", "engine", *heads(kernels)], lines, refusals


def tests(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    kernels = columns(rows)
    words = {True: "passed", False: "**failed**", None: ""}
    there = {(row["test"], column(row)): row for row in rows if "test" in row}
    lines = [
        [test, *(words[there.get((test, k), {}).get("passed")] for k in kernels)]
        for test in sorted({test for test, _ in there})
    ]
    return ["test", *heads(kernels)], lines


def _item(text: str) -> str:
    """An item of a list in lines of the documents' width."""
    return textwrap.fill(text, 130, subsequent_indent="   ") + "\n"


def parts(data: dict[str, Any]) -> dict[str, str]:
    rows = data.get("rows", [])
    head, lines, refusals = matrix(rows)
    said = "".join(_item(f"{i}. `{line}`") for i, line in enumerate(refusals, 1))
    releases = {row["kernel"]: row["release"] for row in rows if "release" in row}
    dates = {k: [r["date"] for r in rows if r["kernel"] == k] for k in releases}
    kernels = [
        [k, releases[k], min(dates[k]), max(dates[k])]
        for k in dict.fromkeys(kernel for kernel, _ in columns(rows))
        if k in dates
    ]
    return {
        "kernels": pages.table(("kernel", "release", "from", "to"), kernels),
        "scripts": pages.table(head, lines) + (f"\n{said}" if said else ""),
        "tests": pages.table(*tests(rows)),
        "own": own_table(rows),
    }


def plain() -> str:
    """The table of scripts as text, with the refusals."""
    head, lines, refusals = matrix(pages.load(DOCUMENT).get("rows", []))
    text = "Scripts by kernel, as last tested (docs/kernel-support.md):\n"
    text += "".join(f"  {line}\n" for line in aligned([head, *lines]))
    return text + "".join(f"  ({i}) {said}\n" for i, said in enumerate(refusals, 1))


def arguments(parser: argparse.ArgumentParser) -> None:
    what = "results of writestall test --junit DIR"
    add = parser.add_argument
    add("folder", metavar="DIR", type=Path, help=what)
    of_own = "what a kernel outside vm/kernels.toml was built from, and how"
    add("--configuration", metavar="TEXT", help=of_own)


def main(args: argparse.Namespace) -> int:
    """Record the results, and write the document."""
    files = sorted(args.folder.glob("*.xml"))
    if not files:
        raise UserError(
            f"{args.folder} has no results: make some with writestall test --junit DIR"
        )
    rows = {key(row): row for row in pages.load(DOCUMENT).get("rows", [])}
    for file in files:
        date = time.strftime("%Y-%m-%d", time.gmtime(file.stat().st_mtime))
        found = [*recorded(file, date, args.configuration)]
        found += counted(file, date, args.configuration)
        rows |= {key(row): row for row in found}
    data = {"rows": [rows[name] for name in sorted(rows)]}
    pages.store(DOCUMENT, data, parts(data))
    return 0
