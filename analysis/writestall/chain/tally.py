# SPDX-License-Identifier: GPL-2.0-only
"""tally: turns the parts of many writes into sums, by what is asked and by key.

Numbers only (columns.py): machine.py makes machine code of it. All sums are in one
table. A key is two numbers: QUESTION and what it is asked of (a cell of the heat map, a
box of the flame graph), and the answer's own. They stand in the order they were met in.
"""

from __future__ import annotations

from typing import NamedTuple

from writestall.chain.columns import (
    C_NAMES,
    CASE,
    LINK_INFERRED,
    NONE,
    NUMBERS,
    P_CLS,
    P_DUR_NS,
    P_EXPLAINED_NS,
    P_HOLDER,
    P_KIND,
    P_KNOWN,
    P_LAST,
    P_LIFTED,
    P_LINK,
    P_OWNER,
    P_PATH,
    P_SIZE,
    P_SLEEP,
    P_STEP,
    P_TASK,
    P_WHY,
    PART,
    T_COMM,
    T_DISK,
    T_THREAD,
    T_WHO,
    TASK,
    THE_WRITER,
    W_DISK,
    W_DUR_NS,
    W_ID,
    W_START_NS,
    W_TASK,
    WRITE,
    Column,
    Scratch,
    Tables,
)  # fmt: skip
from writestall.chain.parts import WAIT
from writestall.chain.walk import FULL, follow
from writestall.classify import classes as c
from writestall.common.scales import EDGES_NS

SECOND_NS = 10**9
# Words and lists are counted by so many.
WORD = 1 << 28
ROWS, REASONS = 64, 64
# What is asked: sums of all, and stall time by class and by root; the same in each cell
# of the heat map; unexplained time by task and reason; stall time by the writer's name,
# and what stands on that: functions, and on these boxes.
(
    Q_TOTAL, Q_CLASS, Q_ROOT, Q_CELL, Q_CELL_CLASS, Q_CELL_ROOT, Q_REASON, Q_TASK,
    Q_NAMES, Q_BOX, QUESTIONS,
) = range(11)  # fmt: skip
EXPLAINED, LINKS, GUESSED_LINKS, HELD, GUESSED, TOTALS = range(6)
STALLS, STALL = range(2)
# Forms of a box: a class, with who held it, or with the disk.
PLAIN, HELD_BY, ON_DISK, FORMS = range(4)

_WAIT, _DEVICE_IO = NUMBERS[WAIT], NUMBERS[c.DEVICE_IO]
_SHORT_SLEEPS, _OTHER = NUMBERS[c.SHORT_SLEEPS], NUMBERS[c.OTHER]
_UNEXPLAINED = NUMBERS[c.UNEXPLAINED]
# What a write itself waited for, beside the event behind it.
CLASSES = len(c.WAIT_CLASSES)


class Asked(NamedTuple):
    """What is wanted beside the sums: all else, and cells of a map from then on."""

    details: int = 0
    cells_from_ns: int = 0
    column_s: int = 0


class Account(NamedTuple):
    """The table: two columns of keys and one of sums, `used` of them.

    slots  numbers of keys from 1, by what they are; 0 is free
    own    the same sums of one write; turns are the keys that are in it
    """

    slots: Column
    keys: Column
    answers: Column
    sums: Column
    own: Column
    turns: Column
    used: Column


class Found(NamedTuple):
    """A number for each write: what it came to, how much of it, who shares that, and
    its cell of the map."""

    roots: Column
    root_ns: Column
    behind: Column
    cells: Column


def gather(
    t: Tables, s: Scratch, g: Account, found: Found, writes: Column, asked: Asked,
    first: int,
) -> int:  # fmt: skip
    """Takes in writes from one on; returns the first that there was no room for."""
    for at in range(first, len(found.roots)):
        write = at * WRITE
        end = follow(t, s, writes, write)
        # At most as many keys as there are questions, for each part.
        if end == FULL or g.used[0] + QUESTIONS * (end // PART + 2) > len(g.sums):
            return at
        _sum(g, s.parts, end)
        cell = NONE
        if asked.column_s:
            cell = _cell(asked, writes[write + W_START_NS], writes[write + W_DUR_NS])
            _add(g, Q_CELL, cell, STALLS, 1)
            _add(g, Q_CELL, cell, STALL, writes[write + W_DUR_NS])
            _sum_cell(g, s.parts, end, cell)
        found.cells[at] = cell
        _sum_roots(t, g, s.parts, end, writes, write)
        _main_root(g, found, at, cell)
        found.behind[at] = _behind(t, s.parts, end, writes[write + W_ID])
        if asked.details:
            _doubts(t, g, s.parts, end)
            _unqueue(s.parts, end)
            _stand(t, g, s.parts, end, writes, write)
    return len(found.roots)


def _entry(g: Account, question: int, of: int, answer: int) -> int:
    """The place of a key's sum."""
    key, mask = question + QUESTIONS * of, len(g.slots) - 1
    slot = (key * 0x9E3779B1 + answer * 0x85EBCA6B) & mask
    slot = (slot ^ (slot >> 15) ^ (answer >> 28)) & mask
    while g.slots[slot]:
        at = g.slots[slot] - 1
        if g.keys[at] == key and g.answers[at] == answer:
            return at
        slot = (slot + 1) & mask
    at = g.used[0]
    g.used[0] = g.slots[slot] = at + 1
    g.keys[at], g.answers[at] = key, answer
    return at


def _add(g: Account, question: int, of: int, answer: int, amount: int) -> int:
    """Adds to a key's sum; returns its place."""
    at = _entry(g, question, of, answer)
    g.sums[at] += amount
    return at


def _sum(g: Account, parts: Column, end: int) -> None:
    at = 0
    while at < end:
        _add(g, Q_TOTAL, 0, EXPLAINED, parts[at + P_EXPLAINED_NS])
        _add(g, Q_CLASS, 0, parts[at + P_CLS], parts[at + P_DUR_NS])
        at += parts[at + P_SIZE]


def _cell(asked: Asked, start_ns: int, dur_ns: int) -> int:
    """Where a write stands on the map: heat.Grid.place()."""
    at_s = max(0, start_ns - asked.cells_from_ns) / SECOND_NS
    column, row = int(at_s // asked.column_s), NONE
    for edge_ns in EDGES_NS:
        if dur_ns >= edge_ns:
            row += 1
    return column * ROWS + max(0, row)


def _sum_cell(g: Account, parts: Column, end: int, cell: int) -> None:
    at = 0
    while at < end:
        _add(g, Q_CELL_CLASS, cell, parts[at + P_CLS], parts[at + P_DUR_NS])
        at += parts[at + P_SIZE]


def _sum_roots(
    t: Tables, g: Account, parts: Column, end: int, writes: Column, write: int
) -> None:
    writer = t.tasks[writes[write + W_TASK] * TASK + T_THREAD]
    g.turns[0] = 0
    for at in range(0, end, PART):
        if parts[at + P_SIZE] == PART:
            root = _root(t, parts, at, writer, writes[write + W_DISK])
            place = _add(g, Q_ROOT, 0, root, parts[at + P_DUR_NS])
            if not g.own[place]:
                g.turns[0] += 1
                g.turns[g.turns[0]] = place
            g.own[place] += parts[at + P_DUR_NS]


def _root(t: Tables, parts: Column, at: int, writer: int, disk: int) -> int:
    """What a leaf comes down to (roots.Root), as a number."""
    cls = parts[at + P_CLS] if parts[at + P_KNOWN] else _UNEXPLAINED
    if parts[at + P_KIND] == _SHORT_SLEEPS:
        cls = _OTHER
    if cls == _UNEXPLAINED:
        return cls * WORD * WORD
    task, who = parts[at + P_TASK] * TASK, parts[at + P_OWNER]
    if not who:
        own = t.tasks[task + T_THREAD] == writer
        who = THE_WRITER if own else t.tasks[task + T_WHO]
    on = 0
    if cls == _DEVICE_IO:
        on = t.tasks[task + T_DISK] or disk
    return (cls * WORD + who) * WORD + on


def _main_root(g: Account, found: Found, at: int, cell: int) -> None:
    """What most of a write came to; of no length, that is not known."""
    found.roots[at], found.root_ns[at] = _UNEXPLAINED * WORD * WORD, 0
    for turn in range(1, g.turns[0] + 1):
        place = g.turns[turn]
        ns, root = g.own[place], g.answers[place]
        if ns > found.root_ns[at]:
            found.roots[at], found.root_ns[at] = root, ns
        if cell != NONE:
            _add(g, Q_CELL_ROOT, cell, root, ns)
        g.own[place] = 0


def _behind(t: Tables, parts: Column, end: int, id: int) -> int:
    """The event the longest root rests on, and what the write itself waited for."""
    at, first, leaf = 0, NONE, NONE
    while at < end:
        leaf = at
        while at < end:
            if parts[at + P_DUR_NS] > parts[leaf + P_DUR_NS]:
                leaf = at
            at += parts[at + P_SIZE]
        if first == NONE:
            first = leaf
        at, end = leaf + PART, leaf + parts[leaf + P_SIZE]
    if leaf == NONE or parts[leaf + P_KIND] != _WAIT or parts[leaf + P_SLEEP] == NONE:
        return -id
    return t.ids[parts[leaf + P_SLEEP]] * CLASSES + parts[first + P_CLS]


def _doubts(t: Tables, g: Account, parts: Column, end: int) -> None:
    """Waits for a task, and how their holder is known; reasons of what is not."""
    at = 0
    while at < end:
        if parts[at + P_HOLDER] != NONE:
            _add(g, Q_TOTAL, 0, HELD, parts[at + P_DUR_NS])
            if parts[at + P_LINK] == LINK_INFERRED:
                _add(g, Q_TOTAL, 0, GUESSED, parts[at + P_DUR_NS])
        at += parts[at + P_SIZE]
    for at in range(end - PART, NONE, -PART):
        if parts[at + P_HOLDER] != NONE:
            _add(g, Q_TOTAL, 0, LINKS, 1)
            if parts[at + P_LINK] == LINK_INFERRED:
                _add(g, Q_TOTAL, 0, GUESSED_LINKS, 1)
        if parts[at + P_SIZE] == PART and not parts[at + P_KNOWN]:
            comm = t.tasks[parts[at + P_TASK] * TASK + T_COMM]
            reason = comm * REASONS + parts[at + P_WHY]
            _add(g, Q_REASON, 0, reason, parts[at + P_DUR_NS])


def _unqueue(parts: Column, end: int) -> None:
    """Finds locks that were handed along a queue, as merge.unqueued() does.

    LAST is the last holder in the queue; LIFTED are waits in it.
    """
    for at in range(end - PART, NONE, -PART):
        holder, longest_ns = parts[at + P_HOLDER], 0
        parts[at + P_LAST], parts[at + P_LIFTED] = holder, 0
        below, stop = at + PART, at + parts[at + P_SIZE]
        while below < stop and holder != NONE:
            same = (
                parts[below + P_KIND] == parts[at + P_KIND]
                and parts[below + P_CLS] == parts[at + P_CLS]
                and parts[below + P_PATH] == parts[at + P_PATH]
            )
            if same and parts[below + P_HOLDER] != NONE:
                parts[below + P_LIFTED] = 1
                if parts[below + P_DUR_NS] > longest_ns:
                    longest_ns = parts[below + P_DUR_NS]
                    parts[at + P_LAST] = parts[below + P_LAST]
            below += parts[below + P_SIZE]


def _stand(
    t: Tables, g: Account, parts: Column, end: int, writes: Column, write: int
) -> None:
    """Stands each part on the one above it, the first ones on the writer's name."""
    comm = t.tasks[writes[write + W_TASK] * TASK + T_COMM]
    ground = _add(g, Q_TASK, 0, comm, writes[write + W_DUR_NS])
    at = 0
    while at < end:
        parts[at + P_STEP] = ground
        at += parts[at + P_SIZE]
    for at in range(0, end, PART):
        step = parts[at + P_STEP]
        if not parts[at + P_LIFTED]:
            names = 0
            if parts[at + P_KIND] == _WAIT and parts[at + P_PATH]:
                names = t.cases[t.kinds[parts[at + P_SLEEP]] * CASE + C_NAMES]
            step = _entry(g, Q_NAMES, step, names)
            box = _box(t, parts, at, writes[write + W_DISK])
            step = _add(g, Q_BOX, step, box, parts[at + P_DUR_NS])
        below, stop = at + PART, at + parts[at + P_SIZE]
        while below < stop:
            parts[below + P_STEP] = step
            below += parts[below + P_SIZE]


def _box(t: Tables, parts: Column, at: int, disk: int) -> int:
    """A wait's class, and who held it or which disk it was, as a number."""
    cls, form, word = parts[at + P_CLS], PLAIN, 0
    if parts[at + P_LAST] != NONE:
        form, word = HELD_BY, t.tasks[parts[at + P_LAST] * TASK + T_COMM]
    elif cls == _DEVICE_IO and parts[at + P_SIZE] == PART:
        task = parts[at + P_TASK] * TASK
        form, word = ON_DISK, t.tasks[task + T_DISK] or disk
    return (cls * FORMS + form) * WORD + word
