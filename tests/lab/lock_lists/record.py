#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""record: record who waits and who holds on slow disks, by the kernel's own lists.

Each case of cases.toml runs in a machine of its own (stall.sh). NAME.log.xz has parts
of its kernel's log, each below a line `# snapshot N`: the tasks that wait (sysrq w),
and the locks that all tasks held at that moment (sysrq d). Below `# snapshot hung` are
the reports of hung tasks.
"""

from __future__ import annotations

import argparse
import lzma
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[2]
TABLE = tomllib.loads((HERE / "cases.toml").read_text())
DATA = PROJECT / "tests/data/lock-lists/6.12"
# Every line of a list of locks is of level warning, and so would be a complaint.
MACHINE = "--memory 3G --disk 1M --timeout 300 --expect .*".split()
SNAPSHOTS = ["1", "2", "3", "hung", "4"]
LISTS = "Showing all locks held in the system:"
WAITS = re.compile(r"\bstate:D\b")
# Who prints and reads the lists holds locks, too.
HOLDS = re.compile(r"\blocks? held by (?!bash/|cat/|khungtaskd/)")


@dataclass(frozen=True)
class Case:
    """A row of the table, which says what they mean."""

    name: str
    make: str
    mount: str
    work: tuple[str, ...]
    write_delay_ms: int
    read_delay_ms: int = 0
    slow_disks: int = 1
    loops: tuple[str, ...] = ()
    limit: str = ""
    limited_work: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, object]:
        """What stall.sh reads; commands that run side by side are lines."""
        return {
            "make": self.make,
            "mount": self.mount,
            "work": "\n".join([*_commands(self.work), *self.loops]),
            "limit": self.limit,
            "limited_work": "\n".join(_commands(self.limited_work)),
            "late": "\n".join(TABLE["late"]),
            "slow_disks": self.slow_disks,
            "read_delay_ms": self.read_delay_ms,
            "write_delay_ms": self.write_delay_ms,
        }


CASES = {name: Case(name, **row) for name, row in TABLE["case"].items()}


def _commands(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield from TABLE["work"][name]


def _machine(case: Case, kernel: str, packages: Iterable[str]) -> str:
    """What stall.sh prints in a machine. Raises ValueError."""
    vm = [str(PROJECT / "writestall"), "vm", "--kernel", kernel, *MACHINE]
    vm += ["--packages", ",".join(packages), "--"]
    values = [f"{name}={value}" for name, value in case.environment.items()]
    script = str((HERE / "stall.sh").relative_to(PROJECT))
    done = subprocess.run(
        [*vm, "env", *values, "bash", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise ValueError(f"status {done.returncode}\n{done.stderr}")
    return done.stdout


def check(log: str) -> str:
    """The log, if it has what it should have. Raises ValueError."""
    _, *parts = re.split(r"^# snapshot (\w+)\n", log, flags=re.MULTILINE)
    found = dict(zip(parts[::2], parts[1::2], strict=True))
    if list(found) != SNAPSHOTS:
        raise ValueError(f"its snapshots are {', '.join(found) or 'none'}")
    for name in SNAPSHOTS:
        if name != "hung" and LISTS not in found[name]:
            raise ValueError(f"snapshot {name} has no list of locks: is lockdep off?")
    if not WAITS.search(log) or not HOLDS.search(log):
        raise ValueError("no task waits, or none holds a lock")
    return log


def main() -> int:
    """Record what was named, or all cases; what failed is named and left out."""
    parser = argparse.ArgumentParser(prog="record.py", description=__doc__)
    tree = "the tree that `writestall dev debug-kernel --flavour lockdep` prints"
    parser.add_argument("--kernel", required=True, metavar="TREE", help=tree)
    parser.add_argument("--out", type=Path, default=DATA, metavar="DIR", help=str(DATA))
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases; all if none")
    args = parser.parse_args()
    if unknown := set(args.names) - CASES.keys():
        parser.error(f"no such case: {', '.join(unknown)}")
    cases = [CASES[name] for name in args.names or CASES]
    # One list for all machines: each list is a disk that must be made.
    more = {package for case in cases for package in case.packages}
    packages = sorted({*TABLE["packages"], *more})
    args.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in cases:
        packed = args.out / f"{case.name}.log.xz"
        try:
            log = check(_machine(case, args.kernel, packages))
        except ValueError as error:
            print(f"record: {case.name}: {error}", file=sys.stderr)
            failed += 1
            continue
        packed.write_bytes(lzma.compress(log.encode(), preset=9))
        print(packed, flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
