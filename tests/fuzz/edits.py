# SPDX-License-Identifier: GPL-2.0-only
"""edits: hypothesis strategies that damage what was recorded, a little at a time.

A wrong value in a line that is otherwise right gets further into a reader than noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

# Values of another type, out of range, or beyond what a format may hold.
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63)),
    *(10**18, 1e300, -0.5, 1e-9, "", "0", "a" * 5000, "\0", "\ud800", "\n", "\x1b[31m"),
    *([], {}, [[]], [None], ["", "?"], ["f+0x1/0x2 [m]"] * 200, {"": {}}),
    *("ftrace_trampoline", "0xffffffffc0000000", "vfs_write+0x1", "jbd2/vdb-8", "."),
)
Line = bytes
Lines = list[Line]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value of a JSON document, from the top."""
    keys: Any = ()
    if isinstance(value, dict):
        keys = value
    elif isinstance(value, list):
        keys = range(min(len(value), 20))
    return [path] * bool(path) + [
        p for k in keys for p in _places(value[k], (*path, k))
    ]


def _changed(draw: Any, document: Any) -> Any:
    """A JSON document with one value replaced, taken away or moved to another key."""
    places = _places(document)
    if not places:
        return draw(st.sampled_from(ODD))
    *path, last = draw(st.sampled_from(places))
    inner = document
    for key in path:
        inner = inner[key]
    how = draw(st.integers(0, 9))
    if how == 0:
        del inner[last]
    elif how == 1 and isinstance(inner, dict):
        inner[draw(st.sampled_from([*inner, "ev", "x"]))] = inner.pop(last)
    elif how == 2 and isinstance(inner[last], int):
        inner[last] += draw(st.integers(-(10**9), 10**9))
    else:
        inner[last] = draw(st.sampled_from(ODD))
    return document


def json_value(draw: Any, line: Line) -> Line:
    """The line with a value of its document changed; noise where it is none."""
    try:
        document = json.loads(line)
    except ValueError:
        return noise(draw, line)
    text = json.dumps(_changed(draw, document), separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def noise(draw: Any, line: Line) -> Line:
    """The line with some bytes replaced by others."""
    at = draw(st.integers(0, len(line)))
    length = draw(st.integers(0, 8))
    other: Line = draw(st.binary(max_size=8))
    return line[:at] + other + line[at + length :]


def cut(draw: Any, line: Line) -> Line:
    """The beginning of the line, without its end."""
    return line[: draw(st.integers(0, len(line)))]


def word(draw: Any, line: Line) -> Line:
    """The line with a word of it replaced."""
    words = line.split(b" ")
    at = draw(st.integers(0, len(words) - 1))
    odd = [str(value).encode("utf-8", "replace") for value in ODD]
    words[at] = draw(st.sampled_from([*odd, *words]))
    return b" ".join(words)


Edit = Callable[[Any, Line], Line]
OF_JSON: tuple[Edit, ...] = (json_value, json_value, json_value, noise, cut)
OF_TEXT: tuple[Edit, ...] = (word, word, noise, cut)


@st.composite
def edited(draw: Any, lines: Lines, edits: tuple[Edit, ...]) -> bytes:
    """A file with some of its lines damaged, repeated, moved or gone."""
    found = list(lines)
    for _ in range(draw(st.integers(1, 6))):
        if not found:
            break
        at = draw(st.integers(0, len(found) - 1))
        how = draw(st.integers(0, 9))
        if how == 0:
            del found[at]
        elif how == 1:
            found.insert(draw(st.integers(0, len(found))), found[at])
        elif how == 2:
            found[at : at + 20] = reversed(found[at : at + 20])
        else:
            found[at] = draw(st.sampled_from(edits))(draw, found[at])
    return b"".join(found)
