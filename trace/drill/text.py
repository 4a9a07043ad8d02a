# SPDX-License-Identifier: GPL-2.0-only
"""text: render the answer: a tree whose times add up, waits, one line a call."""

from __future__ import annotations

from collections.abc import Iterator

from drill import sleeps
from drill.rounds import Event, Round
from drill.tree import Node, merged, one_line
from drill.waits import wait

SMALL = 0.01  # share of the whole below which a function has no row of its own
NAMED = 0.001  # and of a call below which its one line does not name it
MAX_LINES = 10


def _rows(node: Node, whole_ns: int, depth: int) -> Iterator[str]:
    """Yield the rows of a node and its children.

    A function's own time holds that of what it called and has no row.
    """
    large = [n for n in node.children.values() if n.ns >= SMALL * whole_ns]
    own_ns = node.ns - sum(child.ns for child in large)
    share = 100 * node.ns / whole_ns if whole_ns else 0
    numbers = f"{node.ns / 1e6:12.3f} {share:7.1f} % {own_ns / 1e6:12.3f}"
    yield f"{numbers} {node.calls:8}  {'  ' * depth}{node.function}"
    for child in sorted(large, key=lambda child: -child.ns):
        yield from _rows(child, whole_ns, depth + 1)


def tree(root: Node) -> str:
    """The tree as a table, inclusive times and own ones in ms."""
    head = f"{'ms':>12} {'share':>9} {'own ms':>12} {'calls':>8}"
    return "\n".join((head, *_rows(root, root.ns, 0)))


def _waits(last: Round, root: str) -> Iterator[str]:
    """Yield where it sleeps, and on what: two lines for each path worth them."""
    by_end: dict[tuple[str, str], int] = {}
    for kstack, ns in sleeps.slept(last.events).items():
        path = sleeps.path(kstack, root)
        end = " < ".join(reversed(path[-3:])) if path else "a place outside it"
        place = end, wait(kstack)
        by_end[place] = by_end.get(place, 0) + ns
    whole_ns = sum(call["dur_ns"] for call in last.calls)
    for (end, what), ns in sorted(by_end.items(), key=lambda item: -item[1]):
        if ns >= SMALL * whole_ns:
            yield f"asleep {100 * ns / whole_ns:.1f} % in {end}"
            yield from [f"  {what}"] * bool(what)


def _slowest(calls: list[Event]) -> Iterator[str]:
    slow = sorted(calls, key=lambda call: -call["dur_ns"])
    for call in slow[:MAX_LINES]:
        line = one_line(call, NAMED)
        yield f"{call['comm']}/{call['tid']} {call['path']}: {line}"
    if len(slow) > MAX_LINES:
        yield f"and {len(slow) - MAX_LINES} more slow calls"


def _lost(last: Round) -> Iterator[str]:
    for event in last.events:
        if event["ev"] == "lost":
            yield f"lost: {event['count']} {event['what']}, {event['why']}"
    left_out = sum(call["left_out"] for call in last.calls)
    if left_out:
        yield f"lost: {left_out} calls of probed functions, no room in the tree"


def answer(rounds: list[Round], root: str, arguments: str = "") -> str:
    """The whole answer of the last round."""
    last = rounds[-1]
    whole_ns = sum(call["dur_ns"] for call in last.calls)
    head = (
        f"{len(last.calls)} slow calls of {root}, {whole_ns / 1e6:.1f} ms in all;"
        f" rounds: {len(rounds)}, functions probed: {len(last.functions) + 1}"
    )
    parts = [
        "\n".join((*_lost(last), head)),
        tree(merged(last.calls, root)),
        "\n".join(_waits(last, root)),
        "\n".join(_slowest(last.calls)),
        arguments,
    ]
    return "\n\n".join(part for part in parts if part)
