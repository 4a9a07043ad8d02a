# SPDX-License-Identifier: GPL-2.0-only
"""c_layout: read the functions of C sources by their layout.

A function ends at a brace in the first column, as the kernel's style has it; comments
and strings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_FUNCTION = re.compile(
    r"^(?P<type>[\w*][\w\s*]*[\s*])?(?P<name>\w+)\((?P<first>[^;{}]*)\)\s*\{$(?P<body>.*?)^\}",
    re.M | re.S,
)
# include/linux/syscalls.h: the first argument is the name.
_CALL = re.compile(r"(?:COMPAT_)?SYSCALL_DEFINE\d")


class Function(NamedTuple):
    """A function of a tree: its file, whether no other file can call it, its body."""

    file: str
    name: str
    is_static: bool
    body: str


def functions(tree: Path, places: Iterable[str]) -> Iterator[Function]:
    """The functions of the files that the patterns name, in their order."""
    for place in places:
        for path in sorted(tree.glob(place)):
            file = str(path.relative_to(tree))
            text = _COMMENT.sub(" ", path.read_text(errors="replace"))
            for match in _FUNCTION.finditer(text):
                is_static = "static" in (match["type"] or "")
                call = _CALL.match(match["name"]) and match["first"].partition(",")
                name = f"sys_{call[0].strip()}" if call else match["name"]
                yield Function(file, name, is_static, match["body"])
