# SPDX-License-Identifier: GPL-2.0-only
"""slowest: the picture of a report page's slowest call, as a file of its own."""

from __future__ import annotations

import re

WIDTH_PX = 960
EDGE_PX = 7  # room for half an arrow's head at both ends
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
DEFS = re.compile(r'<svg class="defs".*?(<defs>.*?</defs>)', re.DOTALL)
TAGS = re.compile(r"<svg\b|</svg>")
HEIGHT = re.compile(r'height="(\d+)"')


def picture(page: str) -> str | None:
    """The first timeline of a report page; None where no call stalled."""
    start = page.find('<svg class="timeline')
    if start < 0:
        return None
    drawn = page[start : _end(page, start)]
    opening, _, inner = drawn.partition(">")
    height = HEIGHT.search(opening)
    style, defs = STYLE.search(page), DEFS.search(page)
    assert height and style and defs, "the page's parts have other names"
    size = f'width="{WIDTH_PX + 2 * EDGE_PX}" height="{height[1]}"'
    box = f"0 0 {WIDTH_PX + 2 * EDGE_PX} {height[1]}"
    return (
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="{box}">\n'
        f"<style>{_light(style[1])}</style>\n{defs[1]}\n"
        '<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<svg x="{EDGE_PX}" width="{WIDTH_PX}" style="overflow: visible">'
        f"{inner}</svg>\n"
    )


def _light(style: str) -> str:
    """The style without the dark colours: a picture does not know its page's."""
    return style.replace("prefers-color-scheme: dark", "not all").replace("&", "&amp;")


def _end(page: str, start: int) -> int:
    """Where the element that starts there ends."""
    depth = 0
    for tag in TAGS.finditer(page, start):
        depth += 1 if tag[0] == "<svg" else -1
        if not depth:
            return tag.end()
    raise ValueError("an <svg> is not closed")
