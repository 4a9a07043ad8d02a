# SPDX-License-Identifier: GPL-2.0-only
"""delay_table: print a formula or a recorded disk as biodelay's `delay` takes it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from labrun.command_line import Parser, carry_out
from labrun.errors import EXIT_COMPLETE, RefusedError
from labrun.scenario.delays import (
    FORMULAS,
    UNITS_NS,
    duration_ns,
    points,
    recorded,
    words,
)

HELP = """\
delay-table normal MEAN STDDEV          cut at 0
delay-table lognormal MEDIAN SIGMA      SIGMA of the logarithm, no unit
delay-table pareto MINIMUM ALPHA        ALPHA: 1.16 is 80:20, lower is heavier
delay-table fio LOG                     fio's --write_lat_log
delay-table blkparse LOG                blkparse's text: issue (D) to completion (C)
delay-table biosnoop LOG                biosnoop's text, its last column in ms
delay-table numbers LOG                 one number a line, in --unit

Durations are numbers with a unit: 300us, 1.5ms, 2s, 800ns. Write the result to an
attribute:  delay-table lognormal 1ms 0.8 > /sys/kernel/config/biodelay/R/delay
"""


def fio_samples(lines: Iterable[str]) -> Iterable[float]:
    """Yield the second column of fio's latency logs: ns (HOWTO, "Log File Formats")."""
    for line in lines:
        yield float(line.split(",")[1])


def number_samples(scale: float) -> Callable[[Iterable[str]], Iterable[float]]:
    """Return a parser of one number a line."""
    return lambda lines: (float(line) * scale for line in lines if line.strip())


def biosnoop_samples(lines: Iterable[str]) -> Iterable[float]:
    """Yield the last column, LAT(ms), below the header line."""
    for line in lines:
        words = line.split()
        if words and not words[-1].startswith("LAT"):
            yield float(words[-1]) * UNITS_NS["ms"]


def blkparse_samples(lines: Iterable[str]) -> Iterable[float]:
    """Yield times from issue to completion, from blkparse's default format."""
    issued: dict[tuple[str, str], float] = {}
    for line in lines:
        words = line.split()
        if len(words) < 8 or words[5] not in ("D", "C"):
            continue
        key, seconds = (words[0], words[7]), float(words[3])
        if words[5] == "D":
            issued[key] = seconds
        elif key in issued:
            yield (seconds - issued.pop(key)) * UNITS_NS["s"]


def read_samples(
    path: Path, parse: Callable[[Iterable[str]], Iterable[float]]
) -> list[float]:
    """Return the delays of a log in ns."""
    try:
        with path.open(encoding="utf-8") as lines:
            samples = list(parse(lines))
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}") from None
    except (ValueError, IndexError) as error:
        raise RefusedError(f"{path}: not a log of this kind: {error}") from None
    if len(samples) < 2:
        raise RefusedError(f"{path}: {len(samples)} delays, want 2 or more")
    return samples


def _parser() -> Parser:
    parser = Parser("delay-table", "Print a distribution as biodelay takes it.", HELP)
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, (first, second, second_type, _) in FORMULAS.items():
        one = kinds.add_parser(kind)
        one.add_argument("first", type=duration_ns, metavar=first)
        one.add_argument("second", type=second_type, metavar=second)
    for kind in ("fio", "blkparse", "biosnoop", "numbers"):
        log = kinds.add_parser(kind)
        log.add_argument("log", type=Path)
        if kind == "numbers":
            log.add_argument("--unit", choices=UNITS_NS, default="ns")
    return parser


def table_of(chosen: argparse.Namespace) -> list[tuple[int, int]]:
    """Return the table that the command line asks for."""
    if chosen.kind in FORMULAS:
        quantile = FORMULAS[chosen.kind][-1](chosen.first, chosen.second)
        return points(quantile, exact_ends=False)
    parsers = {
        "fio": fio_samples,
        "blkparse": blkparse_samples,
        "biosnoop": biosnoop_samples,
        "numbers": number_samples(UNITS_NS[getattr(chosen, "unit", "ns")]),
    }
    samples = read_samples(chosen.log, parsers[chosen.kind])
    return points(recorded(samples), exact_ends=True)


def _print(options: argparse.Namespace) -> int:
    print(words(table_of(options)))
    return EXIT_COMPLETE


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    return carry_out(_parser(), _print, argv)
