# SPDX-License-Identifier: GPL-2.0-only
"""test_kmod_calls: the module's files use each other in one direction."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support import PROJECT

DEFINED = re.compile(
    r"^(?!static|extern|typedef|DEFINE_)[a-z][^;{}():\n]*\b(biodelay_\w+)(?:\[.*\])?[(;=\s]",
    re.MULTILINE,
)
# Comments and names of types: a function may have the same name.
NO_USE = re.compile(r"/\*.*?\*/|\bstruct \w+", re.DOTALL)


def _uses(sources: dict[str, str]) -> dict[str, set[str]]:
    """For each file, the other files whose functions and tables it names."""
    code = {name: NO_USE.sub("", text) for name, text in sources.items()}
    home = {word: name for name, text in code.items() for word in DEFINED.findall(text)}
    words = {name: set(re.findall(r"\w+", text)) for name, text in code.items()}
    return {
        name: {home[word] for word in found if home.get(word, name) != name}
        for name, found in words.items()
    }


def test_no_two_files_use_each_other() -> None:
    sources = {p.name: p.read_text() for p in Path(PROJECT / "kmod").glob("*.c")}
    uses = _uses(sources)
    assert {"hook.c", "hold.c", "match.c"} <= uses["rule.c"]
    assert "sleep.c" in uses["rule.c"] and "rule.c" in uses["catch.c"]
    order = list(TopologicalSorter(uses).static_order())
    assert order[-1] == "main.c"


def test_a_cycle_is_found() -> None:
    sources = {
        "a.c": "int biodelay_a(void)\n{\n\treturn biodelay_b();\n}\n",
        "b.c": "int biodelay_b(void)\n{\n\treturn biodelay_a();\n}\n",
    }
    with pytest.raises(CycleError):
        list(TopologicalSorter(_uses(sources)).static_order())
