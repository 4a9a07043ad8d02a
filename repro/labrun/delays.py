# SPDX-License-Identifier: GPL-2.0-only
"""delays: a formula or a recorded disk to biodelay's words for `delay`.

    delay-table normal MEAN STDDEV          cut at 0
    delay-table lognormal MEDIAN SIGMA      SIGMA of the logarithm, no unit
    delay-table pareto MINIMUM ALPHA        ALPHA: 1.16 is 80:20, lower is heavier
    delay-table uniform LEAST MOST
    delay-table fio LOG                     fio's --write_lat_log
    delay-table blkparse LOG                blkparse's text: issue (D) to completion (C)
    delay-table biosnoop LOG                biosnoop's text, its last column in ms
    delay-table numbers LOG                 one number a line, in --unit

Durations are numbers with a unit: 300us, 1.5ms, 2s, 800ns. The result goes to
an attribute:  delay-table lognormal 1ms 0.8 > /sys/kernel/config/biodelay/R/delay

The kernel draws by inverting the distribution, evenly between the points of a
table. Points are therefore closer together in the tail, where a straight line
would miss the most: down to a share of 1e-6 above the last but one.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

PPB = 1_000_000_000
MAX_NS = 30_000_000_000
# The kernel takes 256 points, and an attribute's file 4096 bytes.
MAX_BYTES = 4095
UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

Quantile = Callable[[float], float]
Number = Callable[[str], float]


class InputError(Exception):
    """Bad input; the message names the thing and the remedy."""


def duration_ns(text: str) -> float:
    """300us, 1.5ms to nanoseconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not match:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no duration: a number and ns, us, ms or s, as in 1.5ms"
        )
    if not float(match[1]):
        raise argparse.ArgumentTypeError(f"'{text}' must be above 0")
    return float(match[1]) * UNITS_NS[match[2]]


def positive(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 < number < math.inf):
        raise argparse.ArgumentTypeError(f"'{text}' must be a number above 0")
    return number


def shares() -> list[float]:
    """Where the table has its points: even in the body, ever closer at the end."""
    body = [i / 64 for i in range(63)]
    tail = [1 - 10 ** (-i / 12) for i in range(22, 73)]
    return sorted({*body, *tail, 1 - 1e-6})


def _normal(mean: float, stddev: float) -> Quantile:
    from statistics import NormalDist  # a slow machine needs half a second for it

    return NormalDist(mean, stddev).inv_cdf


def normal(mean_ns: float, stddev_ns: float) -> Quantile:
    """Normal distribution, cut at 0."""
    return _normal(mean_ns, stddev_ns)


def lognormal(median_ns: float, sigma: float) -> Quantile:
    """exp() of a normal distribution with standard deviation sigma."""
    unit = _normal(0, 1)
    return lambda share: median_ns * math.exp(sigma * unit(share))


def pareto(minimum_ns: float, alpha: float) -> Quantile:
    """Share above x is (minimum / x) ** alpha."""
    return lambda share: minimum_ns * (1 - share) ** (-1 / alpha)


def uniform(least_ns: float, most_ns: float) -> Quantile:
    """Each delay between two equally likely."""
    return lambda share: least_ns + (most_ns - least_ns) * share


def recorded(samples_ns: list[float]) -> Quantile:
    """Quantiles of what was recorded, even between neighbours."""
    ordered = sorted(samples_ns)

    def quantile(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return quantile


def fio_samples(lines: Iterable[str]) -> Iterable[float]:
    """The second column of fio's latency logs: ns (HOWTO, "Log File Formats")."""
    for line in lines:
        yield float(line.split(",")[1])


def number_samples(scale: float) -> Callable[[Iterable[str]], Iterable[float]]:
    """One number a line."""
    return lambda lines: (float(line) * scale for line in lines if line.strip())


def biosnoop_samples(lines: Iterable[str]) -> Iterable[float]:
    """The last column, LAT(ms), below the head line."""
    for line in lines:
        words = line.split()
        if words and not words[-1].startswith("LAT"):
            yield float(words[-1]) * UNITS_NS["ms"]


def blkparse_samples(lines: Iterable[str]) -> Iterable[float]:
    """Issue to completion by device and sector, in blkparse's default format."""
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
    """A log's delays in ns."""
    try:
        with path.open(encoding="utf-8") as lines:
            samples = list(parse(lines))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, IndexError) as error:
        raise InputError(f"{path}: not such a log: {error}") from None
    if len(samples) < 2:
        raise InputError(f"{path}: {len(samples)} delays in it, 2 or more are needed")
    return samples


def points(quantile: Quantile, exact_ends: bool) -> list[tuple[int, int]]:
    """The table: (ppb, ns), rising, from 0 to 1e9 ppb."""
    ends = (0.0, 1.0) if exact_ends else (1e-9, 1 - 1e-7)
    inner = [share for share in shares() if ends[0] < share < ends[1]]
    table = [(0, quantile(ends[0]))]
    table += [(round(share * PPB), quantile(share)) for share in inner]
    table += [(PPB, quantile(ends[1]))]
    return [(ppb, round(max(ns, 0))) for ppb, ns in table]


def words(table: list[tuple[int, int]]) -> str:
    """A table as the attribute takes it; says when the kernel's bound cuts it."""
    if table[-1][1] > MAX_NS:
        whole = max((ppb for ppb, ns in table if ns <= MAX_NS), default=0)
        share = (PPB - whole) / PPB
        print(f"delay-table: the longest {share:.2g} cut to 30s", file=sys.stderr)
    text = "table " + " ".join(f"{ppb}:{min(ns, MAX_NS)}" for ppb, ns in table)
    assert len(text) <= MAX_BYTES, len(text)
    return text


# Name, what its two numbers are, and what reads the second one.
FORMULAS: dict[str, tuple[str, str, Number, Callable[[float, float], Quantile]]] = {
    "normal": ("MEAN", "STDDEV", duration_ns, normal),
    "lognormal": ("MEDIAN", "SIGMA", positive, lognormal),
    "pareto": ("MINIMUM", "ALPHA", positive, pareto),
    "uniform": ("LEAST", "MOST", duration_ns, uniform),
}


def formula(text: str) -> str:
    """`lognormal 8ms 0.8` as biodelay takes it; raises InputError."""
    kind, *numbers = text.split()
    if kind not in FORMULAS or len(numbers) != 2:
        known = ", ".join(
            f"{name} {first} {second}" for name, (first, second, *_) in FORMULAS.items()
        )
        raise InputError(f"want one of: {known}")
    _, _, second, quantile = FORMULAS[kind]
    try:
        made = quantile(duration_ns(numbers[0]), second(numbers[1]))
    except argparse.ArgumentTypeError as error:
        raise InputError(str(error)) from None
    return words(points(made, exact_ends=False))


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    head, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="delay-table",
        description=head,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    return parser.parse_args(argv)


def table_of(chosen: argparse.Namespace) -> list[tuple[int, int]]:
    """What was asked for, as a table."""
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


def main(argv: list[str] | None = None) -> int:
    """0, or 2 with one line about the mistake."""
    try:
        print(words(table_of(arguments(argv))))
    except InputError as error:
        print(f"delay-table: {error}", file=sys.stderr)
        return 2
    return 0
