# SPDX-License-Identifier: GPL-2.0-only
"""built: check every link of a site, its anchors, and that it needs no network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that name something, and whether the browser fetches it by itself.
FETCHED = {"src", "srcset", "data", "poster"}
NAMED = {"href", *FETCHED}


@dataclass
class _Page(HTMLParser):
    """What a page links to, what it fetches, and the anchors it has."""

    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            elif name in NAMED:
                self.links.append(value)
                if name in FETCHED or tag == "link":
                    self.fetched.append(value)


@cache
def _page(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page


@cache
def _file(folder: Path, name: str, site: Path) -> Path | None:
    """The file of the site that a page in a folder names; None without one."""
    target = (folder / name).resolve()
    inside = target.is_relative_to(site.resolve())
    return target if inside and target.is_file() else None


def problems(site: Path) -> list[str]:
    """A line for each dead link, and for each thing that a page fetches elsewhere."""
    lines = []
    for path in sorted(site.rglob("*.html")):
        where = path.relative_to(site)
        lines += [f"{where}: {line}" for line in _of_page(path, site)]
    return lines


def _of_page(path: Path, site: Path) -> Iterator[str]:
    page = _page(path)
    for url in page.fetched:
        if urlsplit(url).netloc:
            yield f"{url}: fetched from the network"
    for url in dict.fromkeys(page.links):
        if why := _dead(url, path, site):
            yield f"{url}: {why}"


def _dead(url: str, path: Path, site: Path) -> str:
    """Why a link of a page goes nowhere; empty for one that goes somewhere."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return ""
    target = _file(path.parent, unquote(parts.path), site) if parts.path else path
    if target is None:
        return "no such file"
    if not parts.fragment or target.suffix != ".html":
        return ""
    known = unquote(parts.fragment) in _page(target).anchors
    return "" if known else "no such anchor"
