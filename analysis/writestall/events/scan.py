# SPDX-License-Identifier: GPL-2.0-only
"""scan: turns lines that differ from known ones in their times alone into columns.

It takes what decode.Decoder.known() takes, and leaves the same: for long files, where
it is machine code (machine.py) over bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# A line of a block up to what follows its times, digits left out.
HEADS = (b'{"ev":"block","t_ns":', b',"dur_ns":', b',"runq_ns":')
# So many digits no time has that is too long (events.Ns).
MOST_DIGITS = 18
_ZERO, _NINE = b"09"
_ODD = 0x9E3779B97F4A7C1


class Rests(NamedTuple):
    """What follows the times in a known line, by its hash.

    slots   numbers of rests from 1; 0 is free
    text    all of them, where each begins in it, and how long it is
    """

    slots: Any
    hashes: Any
    starts: Any
    sizes: Any
    kinds: Any
    text: Any


class Taken(NamedTuple):
    """Columns of blocks.Blocks, line numbers counted from 0, and places of the others.

    others  numbers of lines that are not known
    counts  how many blocks, and how many others
    """

    ids: Any
    kinds: Any
    t_ns: Any
    dur_ns: Any
    runq_ns: Any
    others: Any
    counts: Any


def scan(
    text: Any, ends: Any, heads: Any, edges: Any, rests: Rests, taken: Taken
) -> None:
    """Takes in the lines of a text that end where it is said.

    edges  where each head begins and the last one ends
    """
    at = blocks = others = 0
    for number in range(len(ends)):
        end, kind = ends[number], -1
        cut, t_ns = _number(text, at, end, heads, edges[0], edges[1])
        cut, dur_ns = _number(text, cut, end, heads, edges[1], edges[2])
        cut, runq_ns = _number(text, cut, end, heads, edges[2], edges[3])
        if cut >= 0:
            kind = find(text, cut, end, rests)
        if kind >= 0:
            taken.ids[blocks], taken.kinds[blocks] = number, kind
            taken.t_ns[blocks], taken.dur_ns[blocks] = t_ns, dur_ns
            taken.runq_ns[blocks] = runq_ns
            blocks += 1
        else:
            taken.others[others] = number
            others += 1
        at = end
    taken.counts[0], taken.counts[1] = blocks, others


def _number(
    text: Any, at: int, end: int, heads: Any, first: int, stop: int
) -> tuple[int, int]:
    """The number behind a head, and where it ends: -1 where they do not stand there."""
    start, ns = at + stop - first, 0
    if at < 0 or start + MOST_DIGITS + 1 > end:
        return -1, 0
    for place in range(stop - first):
        if text[at + place] != heads[first + place]:
            return -1, 0
    at = start
    while at <= start + MOST_DIGITS and _ZERO <= text[at] <= _NINE:
        ns = 10 * ns + text[at] - _ZERO
        at += 1
    digits = at - start
    # JSON has no leading zeros.
    if digits == 0 or digits > MOST_DIGITS or (digits > 1 and text[start] == _ZERO):
        return -1, 0
    return at, ns


def find(text: Any, at: int, end: int, rests: Rests) -> int:
    """The kind of what stands there, -1 where it is not known."""
    hashed, mask = hash_of(text, at, end), len(rests.slots) - 1
    slot = hashed & mask
    while rests.slots[slot]:
        rest = rests.slots[slot] - 1
        alike = rests.hashes[rest] == hashed and rests.sizes[rest] == end - at
        if alike and _equal(text, at, rests.text, rests.starts[rest], end - at):
            return int(rests.kinds[rest])
        slot = (slot + 1) & mask
    return -1


def hash_of(text: Any, at: int, end: int) -> int:
    """A number of a stretch of text: equal for equal ones."""
    words = (end - at) // 8
    numbers = text[at : at + 8 * words].view(np.int64)
    hashed = 0
    for word in range(words):
        hashed += numbers[word] * (2 * word + _ODD)
    for place in range(at + 8 * words, end):
        hashed = hashed * 31 + text[place]
    return int(hashed ^ (hashed >> 32))


def _equal(a: Any, at: int, b: Any, start: int, size: int) -> bool:
    """Whether two stretches of text are the same, eight bytes at a time."""
    words = size // 8
    left = a[at : at + 8 * words].view(np.int64)
    right = b[start : start + 8 * words].view(np.int64)
    differ = 0
    for word in range(words):
        differ |= left[word] ^ right[word]
    for place in range(8 * words, size):
        differ |= a[at + place] ^ b[start + place]
    return differ == 0
