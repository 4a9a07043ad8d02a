# SPDX-License-Identifier: GPL-2.0-only
"""cli: parse the command line of `drilldown` and run its rounds."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from drill import arguments, rounds, text, waits
from drill.debuginfo import Debuginfo
from drill.rounds import Command, Process, must_exist
from launcher.cli import ENGINES
from launcher.errors import TraceError, check_architecture
from writestall_base.command_line import Parser, exit_status, words
from writestall_base.errors import EXIT_COMPLETE

EXAMPLES = """examples:
  trace/drilldown --auto -p 4711
  trace/drilldown --auto --stall-us 50000 -- ./writer /data/file
  trace/drilldown --auto --arguments -p 4711
  trace/drilldown --functions ext4_da_write_begin,__filemap_get_folio -p 4711

With -p a round lasts until three slow calls were seen, or --round-s. A command is
run once in every round, from its start to its end. --arguments takes one round more,
SystemTap, and the kernel's debuginfo (Debian: linux-image-RELEASE-dbg).
"""


def parser() -> Parser:
    """Return the parser; the threshold is in microseconds, rounds in seconds."""
    made = Parser(
        prog="trace/drilldown",
        description="Show where the time of slow calls goes, and what they wait for.",
        epilog=EXAMPLES,
    )
    add = made.add_argument
    what = made.add_mutually_exclusive_group(required=True)
    what.add_argument("--auto", action="store_true", help="find the functions, too")
    what.add_argument("--functions", metavar="F1,F2", help="probe these, one round")
    add("--arguments", action="store_true", help="show their arguments, too")
    add("--root", default="vfs_write", metavar="F", help="whose slow calls (vfs_write)")
    add("--stall-us", type=int, metavar="US", help="shortest slow call (100000)")
    add("--round-s", type=float, default=60, metavar="S", help="longest round (60)")
    add("--engine", choices=ENGINES, default="stap", help="tracing engine (stap)")
    add("--module", type=Path, metavar="KO", help="stap: made by trace/build")
    add("--program", type=Path, metavar="FILE", help="core: built by make core")
    add("-p", "--pid", type=int, metavar="PID", help="a process and its children")
    add("command", nargs="*", metavar="-- COMMAND", help="command to run and trace")
    return made


def _check(options: argparse.Namespace) -> None:
    """Refuse what the engine cannot do here."""
    check_architecture(options.engine)
    if os.geteuid():
        raise TraceError(f"{options.engine} needs root: run it with sudo")
    if options.arguments and options.engine != "stap":
        raise TraceError("--arguments belongs to --engine stap")


def drill(options: argparse.Namespace) -> str:
    """Run the rounds and return the answer; raise TraceError where nothing was slow."""
    _check(options)
    debuginfo = Debuginfo() if options.arguments else None
    if options.pid is not None:
        must_exist(options.pid)
    if not waits.CLASSIFIES:
        log("waits stay without a class: set PYTHONPATH to this tree's analysis/")
    passed = words({"engine": options.engine, "stall_us": options.stall_us})
    built = words({"module": options.module, "program": options.program})
    tracer = rounds.Tracer(options.root, tuple(passed), tuple(built))

    def start() -> rounds.Workload:
        if options.command:
            return Command(options.command)
        return Process(options.pid, options.round_s)

    if options.auto:
        found = rounds.auto(tracer, start, log)
    else:
        found = [tracer.watch(start(), tuple(options.functions.split(",")))]
    if debuginfo and found[-1].calls:
        wanted = arguments.wanted(found[-1].events, options.root, debuginfo)
        log(f"round {len(found) + 1}: arguments of {len(wanted)} functions")
        last = tracer.compiling(wanted).watch(start(), found[-1].functions)
        if last.calls:
            found.append(last)
        else:
            log("no slow call in this round, so no arguments")
    if not found[-1].calls:
        raise TraceError(f"no slow call of {options.root}: try a smaller --stall-us")
    values = arguments.of_slowest(found[-1].events, options.root, debuginfo)
    return text.answer(found, options.root, values)


def log(line: str) -> None:
    """Print progress to stderr."""
    print(f"drilldown: {line}", file=sys.stderr, flush=True)


def main(argv: list[str]) -> int:
    """Drill down; report a mistake or a failure in one line and a status."""
    made = parser()

    def call() -> int:
        options = made.parse_args(argv)
        if (options.pid is None) == (not options.command):
            made.error("give a process, -p PID, or a command, -- COMMAND")
        if options.command and "--" not in argv:
            made.error(f"write -- in front of the command: -- {options.command[0]}")
        print(drill(options))
        return EXIT_COMPLETE

    return exit_status("drilldown", call)
