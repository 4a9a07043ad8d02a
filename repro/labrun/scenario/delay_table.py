# SPDX-License-Identifier: GPL-2.0-only
"""delay_table: print a formula or a recorded disk as biodelay's `delay` takes it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from labrun.scenario import block_traces, fio_latencies
from labrun.scenario.delays import FORMULAS, above_0_ns, points, words
from labrun.scenario.distribution import Distribution, of_samples, picture
from labrun.scenario.recorded_text import UNPACK_MIB, Text
from writestall_base.command_line import Parser, whole
from writestall_base.errors import EXIT_COMPLETE
from writestall_base.progress import say
from writestall_base.units import UNITS_NS

HELP = """\
delay-table normal MEAN STDDEV          cut at 0
delay-table lognormal MEDIAN SIGMA      SIGMA of the logarithm, no unit
delay-table pareto MINIMUM ALPHA        ALPHA: 1.16 is 80:20, lower is heavier
delay-table fio LOG                     fio's --write_lat_log, or its JSON
delay-table blkparse LOG                blkparse's text: issue (D) to completion (C)
delay-table biosnoop LOG                text of bcc's, libbpf's or bpftrace's biosnoop
delay-table biolatency LOG              histograms of bcc's, libbpf's or bpftrace's
delay-table numbers LOG                 one number a line, in --unit (ns)

LOG is - for standard input, and may be compressed: up to --unpack-mib N MiB (1024) are
read of it. --direction DIRECTION takes only what is read, write, trim or flush. What
was used of a log, and its distribution, go to stderr.

Durations are numbers with a unit: 300us, 1.5ms, 2s, 800ns. Write the result to an
attribute:  delay-table lognormal 1ms 0.8 > /sys/kernel/config/biodelay/R/delay
"""
# What --direction may pick, where a log has it.
DIRECTED = {
    "fio": fio_latencies.DIRECTIONS,
    "biosnoop": ("read", "write", "trim", "flush"),
    "blkparse": ("read", "write", "trim", "flush"),
}


def numbers(text: Text, unit: str) -> Distribution:
    """Return the distribution of one number a line."""
    samples = []
    for number, line in text.lines():
        try:
            value = float(line)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            text.bad(number, line)
        else:
            text.use()
            samples.append(value * UNITS_NS[unit])
    if len(samples) < 2:
        raise text.nothing("numbers")
    return of_samples(samples)


# What reads each kind of log.
LOGS: dict[str, Callable[[Text, argparse.Namespace], Distribution]] = {
    "fio": lambda text, asked: fio_latencies.read(text, asked.unit, asked.direction),
    "blkparse": lambda text, asked: block_traces.blkparse(text, asked.direction),
    "biosnoop": lambda text, asked: block_traces.biosnoop(text, asked.direction),
    "biolatency": lambda text, _: block_traces.biolatency(text),
    "numbers": lambda text, asked: numbers(text, asked.unit or "ns"),
}


def _parser() -> Parser:
    parser = Parser("delay-table", "Print a distribution as biodelay takes it.", HELP)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, (first, second, second_type, _) in FORMULAS.items():
        one = kinds.add_parser(kind)
        one.add_argument("first", type=above_0_ns, metavar=first)
        one.add_argument("second", type=second_type, metavar=second)
    for kind in LOGS:
        log = kinds.add_parser(kind)
        log.add_argument("log", type=Path)
        log.add_argument(
            "--unpack-mib", type=whole(1, 1 << 20), default=UNPACK_MIB, metavar="N"
        )
        if kind in ("fio", "numbers"):
            log.add_argument("--unit", choices=UNITS_NS)
        if kind in DIRECTED:
            log.add_argument("--direction", choices=DIRECTED[kind])
    return parser


def read_log(chosen: argparse.Namespace) -> Distribution:
    """Return the delays in a log; print what was used, and a picture of them."""
    text = Text(chosen.log, chosen.unpack_mib)
    found = LOGS[chosen.kind](text, chosen)
    text.report()
    for line in picture(found):
        say(f"delay-table: {line}")
    return found


def table_of(chosen: argparse.Namespace) -> list[tuple[int, int]]:
    """Return the table that the command line asks for."""
    if chosen.kind in FORMULAS:
        quantile = FORMULAS[chosen.kind][-1](chosen.first, chosen.second)
        return points(quantile, exact_ends=False)
    return points(read_log(chosen).quantile, exact_ends=True)


def _print(options: argparse.Namespace) -> int:
    print(words(table_of(options)))
    return EXIT_COMPLETE


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    return _parser().carry_out(_print, argv)
