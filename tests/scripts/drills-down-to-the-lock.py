#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall three of thirteen writes, and check that the drill-down finds
exactly these, with times that add up and their nesting, and names what they wait for
without help, on ext4 with one engine, on XFS with each."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import lab

HOLD_S = 0.7
STALL_US = 500_000
WRITES = 13
STALLED = (3, 5, 11)
COOKIES = (5, 15)  # of kprobes, by which the compiled tracer knows functions
DRILLDOWN = lab.PROJECT / "trace/drilldown"
# mm/filemap.c, with folios, before folios, and before 4.14 or where it is inlined; with
# folios its caller, where an engine cannot probe it, for it is an `inline` function.
SLEEPERS = (
    *("folio_wait_bit_common", "wait_on_page_bit_common", "wait_on_page_bit"),
    "folio_wait_bit",
)
# Each inside the one before; the last had another name before 4.13, 5660e13d2fd6 ("fs:
# new infrastructure for writeback error handling and reporting").
NESTED = ("vfs_write", "ext4_file_write_iter")
WRITES_AND_WAITS = ("file_write_and_wait_range", "filemap_write_and_wait_range")


def write_and_stall() -> None:
    """Thirteen synchronous writes of one task; three find the disk suspended."""
    disk = lab.Disk()
    path = lab.MOUNT / "gc.log"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    for number in range(WRITES):
        if number in STALLED:
            lab.stalled_child(disk, lambda: print(os.write(fd, b"x" * 200)), HOLD_S)
        else:
            os.write(fd, b"y" * 200)


@dataclass(frozen=True)
class Engine:
    """An engine, and the folder of SystemTap's modules, beside which core's is."""

    name: str
    modules: Path

    @property
    def words(self) -> list[str]:
        """The options of trace/drilldown that choose it."""
        return ["--engine", self.name, *lab.parts(self.name, "drilldown", self.modules)]

    def drilldown(self, *how: str) -> str:
        """Run the drill-down on this script's own writes; return its output."""
        command = ["env", f"PYTHONPATH={lab.PROJECT}/analysis", str(DRILLDOWN)]
        command += [*how, "--stall-us", str(STALL_US), *self.words]
        return lab.run(*command, "--", sys.executable, __file__, "--as-writer")


Row = tuple[int, str, int, float, float]  # depth, function, calls, ms, own ms


def tree(answer: str) -> list[Row]:
    """The rows of the one table in an answer."""
    found = []
    for line in answer.splitlines():
        cells = re.fullmatch(r" *([\d.]+) +[\d.]+ % +([\d.]+) +(\d+)  ( *)(\w+)", line)
        if cells:
            ms, own_ms, calls, indent, function = cells.groups()
            depth = len(indent) // 2
            found.append((depth, function, int(calls), float(ms), float(own_ms)))
    return found


def check_tree(answer: str) -> None:
    """Three calls of the root, as long as they were held, and times that add up."""
    rows = tree(answer)
    lab.expect(bool(rows), f"no tree in: {answer}")
    depth, function, calls, ms, _ = rows[0]
    root = (depth, function, calls)
    lab.expect(root == (0, "vfs_write", 3), f"{root}: not the 3 slow calls of {WRITES}")
    lab.expect(ms >= len(STALLED) * HOLD_S * 1e3, f"{ms} ms only")
    own_ms = sum(row[4] for row in rows)
    lab.expect(abs(own_ms - ms) < 0.1, f"own times make {own_ms}, not {ms}")


def functions() -> list[str]:
    """What is given to be probed, the root first."""
    known = lab.contents(Path("/proc/kallsyms"))
    return [*NESTED, next(name for name in WRITES_AND_WAITS if f" {name}\n" in known)]


def check_given(engine: Engine) -> None:
    names = functions()
    answer = engine.drilldown("--functions", ",".join(names[1:]))
    check_tree(answer)
    nested = [row[:3] for row in tree(answer)]
    want = [(depth, function, 3) for depth, function in enumerate(names)]
    lab.expect(nested == want, f"{nested}, not {want}")


def check_auto(engine: Engine) -> None:
    answer = engine.drilldown("--auto")
    check_tree(answer)
    lab.expect("\n  page_writeback: " in answer, f"no class in: {answer}")
    own_ms = {row[1]: row[4] for row in tree(answer)}
    slept_ms = sum(own_ms.get(name, 0.0) for name in SLEEPERS)
    share = slept_ms / sum(own_ms.values())
    lab.expect(share > 0.8, f"{share:.1%} of the time in {SLEEPERS}: {answer}")
    lab.expect("lost:" not in answer, answer)
    found = re.search(r"rounds: (\d+)", answer)
    lab.expect(found is not None and int(found[1]) <= 3, f"rounds: {answer}")
    print(answer)


def check_refusal(engine: Engine) -> None:
    """An unknown function: one line that names it, and nothing is loaded."""
    command = [str(DRILLDOWN), "--functions", "no_such_function", *engine.words]
    command += ["-p", str(os.getpid())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lab.expect(done.returncode == 1, f"status {done.returncode}: {done.stderr}")
    lab.expect("cannot probe no_such_function" in done.stderr, done.stderr)
    loaded = Path("/proc/modules").read_text()
    lab.expect("drilldown" not in loaded, "the module is still loaded")


def test(options: argparse.Namespace) -> None:
    names = lab.serving() if lab.release() >= COOKIES else lab.ENGINES[:1]
    engines = [Engine(name, options.modules) for name in names]
    if options.fs == "xfs":
        if lab.mounts("xfs"):
            with lab.disk(lab.xfs()):
                for engine in engines:
                    check_auto(engine)
        return
    with lab.disk():
        for engine in engines:
            check_given(engine)
            check_refusal(engine)
        # what the engines do not differ in, one shows; on XFS each
        check_auto(engines[-1])


if __name__ == "__main__":
    if "--as-writer" in sys.argv:
        write_and_stall()
        sys.exit(0)
    sys.exit(lab.main(test))
