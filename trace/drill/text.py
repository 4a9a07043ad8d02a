# SPDX-License-Identifier: GPL-2.0-only
"""text: render the answer: a tree whose times add up, waits, one line a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from drill import sleeps
from drill.rounds import Event, Round
from drill.waits import wait

SMALL = 0.01  # share of the whole below which a function has no row of its own
NAMED = 0.001  # and of a call below which its one line does not name it
MAX_LINES = 10


@dataclass
class Node:
    """A function's calls from one place; `ns` is inclusive, the sum of all.

    A function that is called from two places has two nodes, one that calls itself has a
    node below its node.
    """

    function: str
    calls: int = 0
    ns: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    def child(self, function: str) -> Node:
        """Return the node of a function called from here; make it if needed."""
        return self.children.setdefault(function, Node(function))


def add(root: Node, call: Event) -> None:
    """Add one slow call to the tree of its root function."""
    root.calls += 1
    root.ns += call["dur_ns"]
    places = [root]
    for row in call["inside"]:
        node = places[row["parent"]].child(row["function"])
        node.calls += row["calls"]
        node.ns += row["dur_ns"]
        places.append(node)


def merged(calls: Iterable[Event], function: str) -> Node:
    """Merge slow calls of a function into one tree."""
    root = Node(function)
    for call in calls:
        add(root, call)
    return root


def _outermost(call: Event) -> Iterator[tuple[str, int]]:
    """Yield function and time of each node that is not below one of its function."""
    functions = [call["function"]]
    above: list[frozenset[str]] = [frozenset()]
    for row in call["inside"]:
        parent = row["parent"]
        above.append(above[parent] | {functions[parent]})
        functions.append(row["function"])
        if row["function"] not in above[-1]:
            yield row["function"], row["dur_ns"]


def one_line(call: Event, least: float = 0.0) -> str:
    """Render a slow call as one line, fast functions first, times in us.

    Functions below the share `least` of its time are counted, not named.
    """
    sums: dict[str, int] = {}
    for function, ns in _outermost(call):
        sums[function] = sums.get(function, 0) + ns
    ordered = sorted(sums.items(), key=lambda item: item[1])
    named = [(name, ns) for name, ns in ordered if ns >= least * call["dur_ns"]]
    parts = [f"{name}={ns // 1000}" for name, ns in named]
    if len(named) < len(ordered):
        parts.insert(0, f"{len(ordered) - len(named)} below {least:.1%}")
    total = f"{call['function']} took {call['dur_ns'] // 1000} us in total"
    return f"{total}: {', '.join(parts)}" if parts else total


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
