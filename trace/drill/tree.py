# SPDX-License-Identifier: GPL-2.0-only
"""tree: merge `call` events into one tree of inclusive times.

A node stands for a function and the place it was called from: a function that is
called from two places has two, one that calls itself has a node below its node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Event = dict[str, Any]


@dataclass
class Node:
    """A function's calls from one place; `ns` is inclusive, the sum of all."""

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
