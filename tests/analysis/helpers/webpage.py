# SPDX-License-Identifier: GPL-2.0-only
"""webpage: parse a report page into elements and text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from writestall.cli.main import main

VOID = {"meta", "input"}
UNREAD = {"script", "style"}


@dataclass(slots=True)
class Element:
    """An element, its attributes and what is in it, in order."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inner: list[Element | str] = field(default_factory=list)

    def all(self, tag: str, **attributes: str) -> Iterator[Element]:
        """Elements below with this tag and attributes, `class_` one of several."""
        for inner in self.inner:
            if isinstance(inner, Element):
                if inner.tag == tag and inner.has(attributes):
                    yield inner
                yield from inner.all(tag, **attributes)

    def one(self, tag: str, **attributes: str) -> Element:
        """The only such element."""
        (found,) = self.all(tag, **attributes)
        return found

    def has(self, wanted: dict[str, str]) -> bool:
        """Whether its attributes are so."""
        return all(
            value in self.attributes.get("class", "").split()
            if name == "class_"
            else self.attributes.get(name) == value
            for name, value in wanted.items()
        )

    def everything(self) -> Iterator[Element]:
        """All elements below."""
        for inner in self.inner:
            if isinstance(inner, Element):
                yield inner
                yield from inner.everything()

    @property
    def text(self) -> str:
        """Its text, spaces as they are."""
        return "".join(
            inner if isinstance(inner, str) else inner.text for inner in self.inner
        )

    @property
    def words(self) -> str:
        """Its text as a reader sees it: one space for many."""
        return " ".join(self.text.split())


class _Reader(HTMLParser):
    """Build elements; an end tag without a start tag is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inner.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].inner.append(data)


def parsed(html: str) -> Element:
    """The whole page; raises where its elements do not nest."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    (root,) = reader.open
    return root


def lines(page: Element) -> Iterator[str]:
    """The text of a page, one line for each line in the source."""
    for inner in page.inner:
        if isinstance(inner, Element):
            if inner.tag not in UNREAD:
                yield from lines(inner)
        else:
            yield from filter(None, (" ".join(x.split()) for x in inner.split("\n")))


def made(run: Path, status: int = 0) -> Path:
    """The page of a run, made by the command line."""
    assert main(["report", str(run)]) == status
    return run / "report.html"


def read(run: Path, status: int = 0) -> Element:
    """The page of a run, made and parsed."""
    return parsed(made(run, status).read_text("utf-8"))
