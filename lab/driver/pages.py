# SPDX-License-Identifier: GPL-2.0-only
"""pages: write tables of measured data into a document.

DOCUMENT.json holds the data; a table goes between the lines
`<!-- NAME: made by PROGRAM -->` and `<!-- end of NAME -->` of DOCUMENT.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from driver.project import PROJECT

DOCS = PROJECT / "docs"


def load(document: str) -> dict[str, Any]:
    """The data of docs/DOCUMENT.md; empty where nothing was recorded."""
    path = DOCS / f"{document}.json"
    data: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return data


def store(document: str, data: dict[str, Any], parts: Mapping[str, str]) -> None:
    """Save the data, and write its tables into the document."""
    path = DOCS / f"{document}.md"
    text = filled(path.read_text(), parts)
    (DOCS / f"{document}.json").write_text(json.dumps(data, indent=1) + "\n")
    path.write_text(text)


def filled(text: str, parts: Mapping[str, str]) -> str:
    """The document with these parts; it must have a place for each."""
    for name, part in parts.items():
        place = rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)"
        found = list(re.finditer(place, text, re.DOTALL))
        if len(found) != 1:
            raise ValueError(f"{len(found)} places for {name}")
        text = text[: found[0].end(1)] + part + text[found[0].start(2) :]
    return text


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
