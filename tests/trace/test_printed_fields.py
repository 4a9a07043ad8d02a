# SPDX-License-Identifier: GPL-2.0-only
"""This test will look for each field of the events' schema in the tracers' sources.

That it is in the right line, a machine tells (tests/scripts/check-schema.py); that a
tracer has been forgotten, this does in a second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from support import PROJECT

SOURCES = {"stap": "stap/tapset/*.stp", "core": "bpf/core/output/*.c"}
# trace/launcher prints the first, clients of repro/ the others.
BY_OTHERS = {"cgroup", "pause", "request"}
# Of the compiled tracer alone.
PROFILE = {"ios", "calls", "file"}
# Of a drill-down with --arguments, which is compiled against debuginfo.
NOT_PRINTED = {"stap": BY_OTHERS | PROFILE, "core": BY_OTHERS | {"arguments"}}
# Beside what the tracers print.
BY_THE_LAUNCHER = {("block", "lock_in")}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SUFFIX = re.compile(r"%s(_\w+)")


def _words(texts: list[str]) -> set[str]:
    """The names in the strings of C; one of a printf may stand before a suffix."""
    literals = " ".join(found for text in texts for found in LITERAL.findall(text))
    words = set(re.findall(r"\w+", literals))
    return words | {word + end for word in words for end in SUFFIX.findall(literals)}


def _fields() -> Iterator[tuple[str, str]]:
    schema = json.loads((PROJECT / "docs/events.schema.json").read_text())
    for event, form in schema["$defs"].items():
        if "ev" in form.get("properties", {}):
            yield from ((event, name) for name in form["properties"])


@pytest.mark.parametrize("engine", SOURCES)
def test_a_tracer_prints_every_field(engine: str) -> None:
    words = _words([path.read_text() for path in PROJECT.glob(SOURCES[engine])])
    fields = [pair for pair in _fields() if pair[0] not in NOT_PRINTED[engine]]
    assert ("write", "cgroup_v1") in fields
    printed = set(fields) - BY_THE_LAUNCHER
    missing = [".".join(pair) for pair in sorted(printed) if pair[1] not in words]
    assert not missing, f"{SOURCES[engine]} has no {', '.join(missing)}"
