#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall three of thirteen writes, and check that the drill-down shows
the arguments of the functions on the sleeping path, including inlined ones, on a kernel
whose debuginfo is installed."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import lab

STALL_US = 500_000
BYTES = 200
# fs/read_write.c: static, with one caller; its name is not in the symbol table.
INLINED = "new_sync_write"
CALL = re.compile(r"  (\w+)\((.*)\)(  \(inlined\))?")
DRILLS = lab.PROJECT / "tests/scripts/drills-down-to-the-lock.py"


def answer(modules: Path) -> list[str]:
    """The drill-down's output on that test's writer, arguments only."""
    command = [str(lab.PROJECT / "trace/drilldown"), "--auto", "--arguments"]
    command += ["--stall-us", str(STALL_US), "--module", f"{modules}/drilldown.ko"]
    said = lab.run(*command, "--", sys.executable, DRILLS, "--as-writer")
    print(said)
    lab.expect("lost:" not in said, said)
    return said.rpartition("\n\n")[2].splitlines()


def check(lines: list[str]) -> None:
    """The sleeping function comes first, and the inlined one shows how much was
    written."""
    lab.expect(": asleep " in lines[0], f"no call but {lines[0]}")
    calls = {found[1]: found for line in lines if (found := CALL.fullmatch(line))}
    lab.expect(len(calls) == len(lines) - 1, f"no calls: {lines}")
    first = next(iter(calls))
    lab.expect(first.startswith(("folio_wait_", "wait_on_page_")), f"{first} first")
    lab.expect(INLINED in calls, f"no {INLINED} in {sorted(calls)}")
    lab.expect(bool(calls[INLINED][3]), f"{INLINED} is not said to be inlined")
    lab.expect(f"len={BYTES}," in calls[INLINED][2], calls[INLINED][2])
    rows = lab.contents(Path("/proc/kallsyms")).splitlines()
    symbols = {row.split()[2] for row in rows}
    lab.expect(INLINED not in symbols, f"{INLINED} is a function of its own here")


def test(options: argparse.Namespace) -> None:
    with lab.disk():
        check(answer(options.modules))


if __name__ == "__main__":
    sys.exit(lab.main(test))
