# SPDX-License-Identifier: GPL-2.0-only
"""broken_lines: join lines of a console that another CPU's message broke in two.

Without CONFIG_PRINTK_CALLER nothing names who printed a part, but each message begins
with its time, and only the rest of a broken line has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from writestall.log.lines import Line, split
from writestall.log.wrappings import Row

# Another message's time inside a line that has its own.
_INSIDE = re.compile(r"(?<=[^\s:>\]])\[\s{0,6}\d{1,8}\.\d{6}\]")
_OWN_CHARS = 12


def whole(rows: Iterable[Row]) -> Iterator[tuple[int, Line]]:
    """Every line with its parts; a broken one behind the message that broke it."""
    held: tuple[int, str, str] | None = None
    for number, host, text in rows:
        inside = text[:1] in ("[", "<") and _INSIDE.search(text, _OWN_CHARS)
        line = _line(host, text[inside.start() :] if inside else text)
        if held:
            first, where, begin = held
            held = None
            if not line.marked:
                yield first, _line(where, begin + text)
                continue
            yield first, _line(where, begin)
        if inside:
            held = number, host, text[: inside.start()]
        yield number, line
    if held:
        yield held[0], _line(*held[1:])


def _line(host: str, text: str) -> Line:
    """The parts of a line; the host is that of a record around it, if it has none."""
    line = split(text)
    return line._replace(host=host, marked=True) if host and not line.host else line
