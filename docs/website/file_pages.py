# SPDX-License-Identifier: GPL-2.0-only
"""file_pages: show a file of the tree, or what is in a folder, as a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound

FOLDER = PurePosixPath("file")
# In no list of pages; whoever searches the site looks for a document.
ORPHAN = "---\norphan: true\nnosearch: true\n---\n"
MOST_BYTES = 200_000
LANGUAGES = {".stp": "c", ".bt": "c"}
TICKS = re.compile(r"`+")
LICENCE = "SPDX-License-Identifier"


def name(place: PurePosixPath) -> PurePosixPath:
    """The page of a file or folder."""
    return FOLDER / f"{place}.md"


def of_file(tree: Path, place: PurePosixPath) -> str:
    """The page of a file."""
    data = (tree / place).read_bytes()
    if b"\0" in data or len(data) > MOST_BYTES:
        return f"{ORPHAN}# {place}\n\n{len(data)} bytes, not shown.\n"
    return f"{ORPHAN}# {place}\n\n{block(data.decode(), language(place))}"


def of_folder(tree: Path, place: PurePosixPath, inside: Iterable[PurePosixPath]) -> str:
    """The page of a folder: its files and the line that each begins with."""
    rows = [f"- `{path.name}` {_about(tree / path)}\n" for path in inside]
    return f"{ORPHAN}# {place}/\n\n{''.join(rows) or 'It has folders only.'}\n"


def language(place: PurePosixPath) -> str:
    """The name of the lexer for a file."""
    if place.suffix in LANGUAGES:
        return LANGUAGES[place.suffix]
    try:
        return str(get_lexer_for_filename(place.name).aliases[0])
    except ClassNotFound:
        return "none"


def block(text: str, language: str = "none") -> str:
    """A block of code that may hold any text."""
    longest = max(map(len, TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _about(path: Path) -> str:
    """What the file says of itself behind its licence line; nothing if it does not."""
    try:
        lines = path.read_text().splitlines()[:6]
    except UnicodeDecodeError:
        return ""
    for line in lines:
        said = re.match(rf'\W*{re.escape(path.stem)}: (.*?)(?:"""|\*/)?$', line)
        if said:
            return said[1].replace("`", "").replace("<", "&lt;").replace("*", "\\*")
    return ""
