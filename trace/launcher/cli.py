# SPDX-License-Identifier: GPL-2.0-only
"""cli: parse the command line of `trace` and run the engine that it names."""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

from launcher import core, systemtap
from launcher.errors import TraceError, check_architecture
from launcher.options import add_arguments
from launcher.plain_text import output
from writestall_base.command_line import Parser, exit_status
from writestall_base.errors import EXIT_COMPLETE

ENGINES = {"stap": systemtap, "core": core}
SCRIPTS = systemtap.SCRIPTS

EXAMPLES = """examples:
  trace/trace stalled_writes
  trace/trace --engine core stalled_writes --stall-us 50000 --device /dev/sda
  trace/trace slow_writes -v --path /var/lib/kafka
"""


def parser() -> Parser:
    """Return the parser; thresholds are in microseconds."""
    made = Parser(
        prog="trace/trace",
        description="Print a script's events as JSON lines until SIGINT.",
        epilog=EXAMPLES,
    )
    add = made.add_argument
    add("--engine", choices=ENGINES, default="stap", help="tracing engine (stap)")
    add("script", choices=SCRIPTS, metavar="SCRIPT", help=", ".join(SCRIPTS))
    add_arguments(made)
    below = "drilldown: the root, then those below it"
    made.add_argument("--functions", metavar="F,F", help=below)
    stap = made.add_argument_group("with --engine stap")
    add = stap.add_argument
    add("--arguments", metavar="F,F", help="drilldown: as in trace/build --help")
    add("--module", type=Path, metavar="KO", help="compiled by trace/build")
    add = made.add_argument_group("with --engine core").add_argument
    series = "count shorter bios by their latency, too, for each MS"
    add("--series-ms", type=int, metavar="MS", help=series)
    calls = "keep every call for a replay, too, up to MIB of them"
    add("--calls-mib", type=int, metavar="MIB", help=calls)
    add("--program", type=Path, metavar="FILE", help="built by make core")
    return made


def _trace(options: argparse.Namespace) -> int:
    engine = ENGINES[options.engine]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    check_architecture(options.engine)
    if (options.script == "drilldown") != bool(options.functions):
        raise TraceError("--functions belongs to drilldown, which needs it")
    engine.check(options)
    if os.geteuid():
        raise TraceError(f"{options.engine} needs root: run it with sudo")
    with output(options) as sink:
        engine.trace(options, sink)
    return EXIT_COMPLETE


def main(argv: list[str]) -> int:
    """Trace; report a mistake or the death of the tracer in one line."""
    return exit_status("trace", lambda: _trace(parser().parse_args(argv)))
