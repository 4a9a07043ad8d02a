# SPDX-License-Identifier: GPL-2.0-only
"""units: times, shares, tables, untrusted names as text, and times read from text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

US_NS, MS_NS, S_NS = 1_000, 1_000_000, 1_000_000_000
UNITS_NS = {"ns": 1, "us": US_NS, "ms": MS_NS, "s": S_NS}
LONG_UNITS_NS = UNITS_NS | {"m": 60 * S_NS, "h": 3600 * S_NS}
NO_UTF8 = 0xDC00  # Python has such a byte as a character from there on: PEP 383


def duration_ns(text: str) -> float:
    """`50ms`, `1.5s`, `2m` in ns; 0 for what is no time with its unit."""
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(ns|us|ms|s|m|h)", text)
    return float(found[1]) * LONG_UNITS_NS[found[2]] if found else 0


def short(ns: float) -> str:
    """A time in the unit that suits it, with the three digits that count: `1.5 ms`."""
    unit = next((u for u in ("s", "ms", "us") if abs(ns) >= UNITS_NS[u]), "ns")
    return f"{ns / UNITS_NS[unit]:.3g} {unit}"


def printable(text: str) -> str:
    """Text without control, direction or invisible characters: each becomes `\\x1b`.

    Names come from users; a terminal would obey what is in them.
    """
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else escaped(ch) for ch in text)


def escaped(ch: str) -> str:
    """A character as `\\x1b`; a byte of a path that was no UTF-8 as that, `\\xff`."""
    code = ord(ch) - NO_UTF8
    return f"\\x{code:02x}" if 0x80 <= code <= 0xFF else ascii(ch)[1:-1]


def utf8(text: str) -> str:
    """Text whose bytes were no UTF-8 (a path's, say) as U+FFFD where they were."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def shares(total: int, amounts: Sequence[int], want: int) -> list[int]:
    """`want` units divided in proportion to amounts that sum to `total`.

    Largest remainders: every number is its true value rounded down or up, and the
    numbers add up to `want`.
    """
    if not total:
        return [0] * len(amounts)
    dealt = [amount * want // total for amount in amounts]
    by_rest = sorted(
        range(len(amounts)), key=lambda i: (amounts[i] * want % total, amounts[i])
    )
    left = want - sum(dealt)
    for i in reversed(by_rest[len(by_rest) - left :] if left else []):
        dealt[i] += 1
    return dealt


def ms(ns: int | None) -> str:
    """`1276 ms`, `4.12 ms`: three digits are enough for a person."""
    if ns is None:
        return "-"
    value = ns / 1e6
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} ms"


def many(count: int, what: str) -> str:
    """`1 write`, `2 writes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def percent(part: float, whole: float = 1.0) -> str:
    """`97.3 %`; rounded down, so that 100.0 % means all of it."""
    if not whole:
        return "-"
    tenths = int(1000 * part / whole)
    return f"{tenths / 10:.1f} %"


def aligned(rows: Sequence[Sequence[str]], numbers: slice = slice(0)) -> Iterator[str]:
    """Yield the lines of a table, blank ones left out: numbers are aligned right."""
    columns = list(zip(*rows, strict=True))
    widths, right = (
        [max(map(len, one)) for one in columns],
        range(len(columns))[numbers],
    )
    for row in rows:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        if line := "  ".join(cells).rstrip():
            yield line
