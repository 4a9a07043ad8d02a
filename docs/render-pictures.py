#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""render-pictures: render docs/concepts/pictures.toml as SVG files beside it.

usage: docs/render-pictures.py [--check]

A picture has `lanes`, with a bar for each thing that a task does over time, or `boxes`,
at places of a grid. --check writes nothing: its status is 1 where a file differs.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import rendering

SOURCE = Path("docs/concepts/pictures.toml")
WIDTH, MARGIN = 720, 12
FONT_PX, LINE_PX, LETTER_PX = 12, 16, 6.7
LABEL_PX = 126  # of the lanes' names, at the left
LANE_PX, BAR_PX, LANES_PX = 48, 30, WIDTH - MARGIN
END = 100.0  # of the time in a picture with lanes
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"
 viewBox="0 0 {width} {height}" role="img" aria-label="{title}">
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<style>text {{ font: {font}px "DejaVu Sans", Verdana, sans-serif; fill: #1b1b1b }}
.dim {{ fill: #5c5c5c }} .line {{ stroke: #1b1b1b; fill: none }} .paper {{ fill: #fff }}
@media (prefers-color-scheme: dark) {{
.paper {{ fill: #16181b }} .dim {{ fill: #a3a6a9 }}
.line {{ stroke: #e6e6e3 }} .beside, .tip {{ fill: #e6e6e3 }} }}</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"
 markerHeight="7" orient="auto"><path class="tip" d="M0,0 L8,4 L0,8 Z"/></marker></defs>
<rect class="paper" width="100%" height="100%"/>
"""
Row = dict[str, Any]


class PictureError(Exception):
    """A picture that cannot be drawn as it is described."""


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {size} fill="{fill}" stroke="#1b1b1b"/>'


def _arrow(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> str:
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<line class="line" {ends} marker-end="url(#tip)"{dashes}/>'


def _fits(text: str, width: float) -> None:
    if len(text) * LETTER_PX > width:
        raise PictureError(f"{text!r} is wider than the {width:.0f} px it has")


def _at(time: float) -> float:
    """The x of a time, 0 to END."""
    return LABEL_PX + time / END * (LANES_PX - LABEL_PX)


def _lanes(picture: Row, colours: dict[str, str]) -> Iterator[str]:
    tops = {name: MARGIN + n * LANE_PX for n, name in enumerate(picture["lanes"])}
    for name, top in tops.items():
        middle = top + BAR_PX / 2
        yield _text(MARGIN, middle + 4, name, "beside")
        yield f'<path class="line" opacity=".25" d="M{LABEL_PX} {middle}H{LANES_PX}"/>'
    for bar in picture["bars"]:
        left, right = map(_at, bar["time"])
        lines = bar["says"].split("\n")
        for line in lines:
            _fits(line, right - left)
        yield _rect(left, tops[bar["lane"]], right - left, BAR_PX, colours[bar["as"]])
        first = tops[bar["lane"]] + (BAR_PX - LINE_PX * len(lines)) / 2 + 12
        for n, line in enumerate(lines):
            yield _text(left + 4, first + n * (LINE_PX - 3), line)
    for arrow in picture.get("arrows", []):
        start, end = tops[arrow["from"]], tops[arrow["to"]]
        down = end > start
        y1, y2 = (start + BAR_PX, end) if down else (start, end + BAR_PX)
        x = _at(arrow["time"])
        yield _arrow(x, y1, x, y2, dashed=arrow.get("inferred", False))
    below = MARGIN + len(tops) * LANE_PX
    yield _arrow(LABEL_PX, below, LANES_PX, below)
    yield _text(LANES_PX, below + LINE_PX, "time", "dim", "end")


def _boxes(picture: Row, colours: dict[str, str]) -> Iterator[str]:
    for box in picture["boxes"]:
        x, y, width, height = box["at"]
        yield _rect(x, y, width, height, colours[box["as"]])
        lines = box["says"].split("\n")
        first = y + (height - LINE_PX * len(lines)) / 2 + 12
        for n, line in enumerate(lines):
            _fits(line, width)
            yield _text(x + width / 2, first + n * LINE_PX, line, anchor="middle")
    for arrow in picture.get("arrows", []):
        yield _arrow(*arrow["line"])
    for note in picture.get("notes", []):
        for n, line in enumerate(note["says"].split("\n")):
            yield _text(note["at"][0], note["at"][1] + n * LINE_PX, line, "dim")


def _drawn(picture: Row, colours: dict[str, str]) -> str:
    if "lanes" in picture:
        height = MARGIN + len(picture["lanes"]) * LANE_PX + 2 * LINE_PX
        parts = _lanes(picture, colours)
    else:
        height, parts = picture["height"], _boxes(picture, colours)
    title = escape(picture["title"], quote=True)
    head = HEAD.format(width=WIDTH, height=height, title=title, font=FONT_PX)
    return head + "\n".join(parts) + "\n</svg>\n"


def rendered(tree: Path) -> dict[Path, str]:
    """Return the pictures of a tree by their files."""
    table = tomllib.loads((tree / SOURCE).read_text())
    return {
        SOURCE.with_name(f"{name}.svg"): _drawn(picture, table["colours"])
        for name, picture in table["picture"].items()
    }


if __name__ == "__main__":
    try:
        sys.exit(rendering.main(__doc__, SOURCE, rendered))
    except PictureError as error:
        sys.exit(f"render-pictures: {SOURCE}: {error}")
