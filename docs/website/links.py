# SPDX-License-Identifier: GPL-2.0-only
"""links: rewrite the links of a document of the tree for the site.

A link to a document stays. One to any other file or folder goes to a page that shows
it. A path in backticks, or a document that the text names, becomes a link where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
INDENTED = re.compile(r"^(?: {4}|\t)")
# In the order they are tried: a link or picture, code, a document named in the text.
PARTS = re.compile(
    r"(?P<link>!?\[(?:[^\[\]`]|`[^`]*`|\n)*\]\((?P<target>[^()\s]+)\))"
    r"|(?P<code>`(?P<inside>[^`\n]+)`)"
    r"|(?<![\w/.-])(?P<named>[\w./-]+\.md)\b"
)
FOREIGN = re.compile(r"^(?:[a-z]+:|#|/)")


class DeadLinkError(Exception):
    """A link of a document goes nowhere."""


@dataclass(frozen=True)
class Page:
    """A document, and what its tree has: files, and folders with files."""

    path: PurePosixPath
    known: Callable[[PurePosixPath], bool]

    def found(self, target: str, *, rooted: bool) -> PurePosixPath | None:
        """The path in the tree that a target means, `rooted`: from the top, too."""
        bases = [self.path.parent, *([PurePosixPath()] if rooted else [])]
        for base in bases:
            place = PurePosixPath(normpath(base / target))
            if self.known(place):
                return place
        return None


def rewritten(page: Page, text: str, address: Callable[[PurePosixPath], str]) -> str:
    """The text with the addresses of what it links to; raise where one is dead."""
    return "".join(
        part if is_code else PARTS.sub(lambda hit: _part(page, hit, address), part)
        for is_code, part in blocks(text)
    )


def blocks(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, and whether each is a block of code."""
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    blank = True
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if fence:
            code.append(line)
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        elif mark or (INDENTED.match(line) and (blank or code)):
            fence = mark[1] if mark else ""
            yield False, "".join(prose)
            prose = []
            code.append(line)
        else:
            yield True, "".join(code)
            code = []
            prose.append(line)
        blank = not line.strip()
    yield True, "".join(code)
    yield False, "".join(prose)


def _part(
    page: Page, hit: re.Match[str], address: Callable[[PurePosixPath], str]
) -> str:
    if hit["link"]:
        if FOREIGN.match(hit["target"]):
            return hit[0]
        target, mark, anchor = hit["target"].partition("#")
        place = page.found(target, rooted=False)
        if place is None:
            raise DeadLinkError(f"{page.path}: {target}: no such file")
        return hit[0].removesuffix(hit["target"] + ")") + (
            f"{address(place)}{mark}{anchor})"
        )
    text = hit["inside"] or hit["named"]
    if "/" not in text and hit["code"]:
        return hit[0]
    place = page.found(text.rstrip("/"), rooted=True)
    if place is None or place == page.path:
        return hit[0]
    return f"[{hit[0]}]({address(place)})"
