# SPDX-License-Identifier: GPL-2.0-only
"""arguments: render `arguments` events as the calls on the stack of a sleep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any

from drill import sleeps
from drill.debuginfo import Debuginfo, Place

Event = dict[str, Any]

MAX_CALLS = 3  # whose arguments are shown
MAX_FUNCTIONS = 24  # AR_FUNCTIONS of tapset/arguments.stp
VALUE = re.compile(r"(\w+)=(\S+)")
NEXT = re.compile(r" (\w+)=")  # members begin with a dot


def _on_stack(frames: Iterable[str], known: dict[str, list[Place]]) -> list[Place]:
    """Return the places of frames, innermost first; frames come outermost first."""
    return [place for frame in reversed([*frames]) for place in known[frame]]


def wanted(events: list[Event], root: str, debuginfo: Debuginfo) -> list[str]:
    """Return the words for trace/build --arguments, innermost of all stacks first."""
    stacks = sleeps.main(sleeps.stacks(events, root))
    known = debuginfo.places(frame for stack in stacks for frame in stack)
    levels = zip_longest(*(_on_stack(stack, known) for stack in stacks))
    places = dict.fromkeys(place for place in chain(*levels) if place)
    words = [place.word for place in places if place.function != root]
    return [f"{word}?" for word in words[:MAX_FUNCTIONS]]


def _behind(members: str, name: str, names: set[str]) -> str:
    """Return the text between a parameter's name and the next one's."""
    begin = re.search(rf"(?:^| ){name}=", members)
    if not begin:
        return ""
    after = NEXT.finditer(members, begin.end())
    ends = (found.start() for found in after if found[1] in names)
    return members[begin.end() : next(ends, len(members))]


def _closed(structure: str) -> str:
    """Close the braces that were cut off."""
    missing = structure.count("{") - structure.count("}")
    return structure + "..." * (structure[-1] != "}") + "}" * missing


def merged(values: str, members: str, seen: set[str]) -> str:
    """Render each value once: a number in decimal, a pointer with its structure.

    `values` has all parameters, pointers as such; `members` is cut off, shows what
    pointers point to, and a number for a pointer to one. A structure
    that was `seen` is not shown again.
    """
    found = VALUE.findall(values)
    names = {name for name, _ in found}
    shown = []
    for name, value in found:
        behind = _behind(members, name, names)
        if behind.startswith("{") and value not in seen:
            seen.add(value)
            value = f"{value} {_closed(behind)}"
        elif behind.isdecimal() and int(behind) < 1 << 63:  # no address
            value = behind if f"{int(behind):#x}" == value else value
        shown.append(f"{name}={value}")
    return ", ".join(shown)


def _rows(event: Event, places: list[Place] | None) -> Iterator[str]:
    """Yield one line for each function with known arguments, innermost first."""
    functions = {row["function"]: row for row in event["functions"]}
    seen: set[str] = set()
    if places is None:
        places = [Place(name) for name in functions]
    for place in places:
        row = functions.get(place.function)
        if row:
            inlined = "  (inlined)" if place.line else ""
            text = merged(row["values"], row["members"], seen)
            yield f"  {place.function}({text}){inlined}"


def of_slowest(events: list[Event], root: str, debuginfo: Debuginfo | None) -> str:
    """Render the arguments of the slowest calls at their longest sleep.

    Without debuginfo the functions on the stack are unknown: then all are shown.
    """
    calls = {(e["tid"], e["t_ns"]): e for e in events if e["ev"] == "call"}
    blocks = {(e["tid"], e["t_ns"]): e for e in events if e["ev"] == "block"}
    slow = sorted(
        (event for event in events if event["ev"] == "arguments"),
        key=lambda event: -event["dur_ns"],
    )
    parts = []
    for event in slow[:MAX_CALLS]:
        block = blocks.get((event["tid"], event["asleep_t_ns"]))
        if not block:  # lost, and counted as that
            continue
        places = None
        if debuginfo:
            frames = sleeps.below(block["kstack"], root)
            places = _on_stack(frames, debuginfo.places(frames))
        path = calls.get((event["tid"], event["t_ns"]), {}).get("path")
        took = f"{block['dur_ns'] / 1e6:.1f} of {event['dur_ns'] / 1e6:.1f} ms"
        head = f"{event['comm']}/{event['tid']} {path}: asleep {took} in"
        parts.append("\n".join((head, *_rows(event, places))))
    return "\n\n".join(parts)
