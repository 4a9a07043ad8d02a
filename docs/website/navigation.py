# SPDX-License-Identifier: GPL-2.0-only
"""navigation: the list of pages at the side, in the order of docs/README.md.

Each bold line there is a heading, and the documents linked below it follow. The
README.md of a folder has the folder's other documents below it, and those of the
folders in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from posixpath import normpath

from website.staging import INDEX, TOP, Stage

QUESTIONS = PurePosixPath("docs/README.md")
HEADING = re.compile(r"^\*\*(?P<title>.+)\*\*$|\]\((?P<target>[^)#\s]+\.md)", re.M)
REST = "More"
README = "README.md"


def write(stage: Stage) -> None:
    """Add the lists to the first page and to the README.md of each folder."""
    lists = _by_question((stage.tree / QUESTIONS).read_text())
    lists |= stage.made
    listed = {page for pages in lists.values() for page in pages}
    below = _below_a_readme(stage.documents, listed)
    inner = {page for pages in below.values() for page in pages}
    others = [p for p in stage.documents if p not in listed | inner | {TOP, QUESTIONS}]
    lists[REST] = [QUESTIONS, *others]
    _append(stage, INDEX, "".join(_toctree(*row) for row in lists.items()))
    for page, pages in below.items():
        _append(stage, page, _toctree("", pages))


def _by_question(text: str) -> dict[str, list[PurePosixPath]]:
    """The pages by heading, each where it is named first."""
    lists: dict[str, list[PurePosixPath]] = {}
    listed = {TOP}
    for hit in HEADING.finditer(text):
        if hit["title"]:
            pages = lists.setdefault(hit["title"], [])
            continue
        page = PurePosixPath(normpath(QUESTIONS.parent / hit["target"]))
        if page not in listed:
            listed.add(page)
            pages.append(page)
    return lists


def _below_a_readme(
    documents: Iterable[PurePosixPath], listed: set[PurePosixPath]
) -> dict[PurePosixPath, list[PurePosixPath]]:
    """The pages that no list names, by the README.md of their folder."""
    below: dict[PurePosixPath, list[PurePosixPath]] = {}
    known = set(documents) - {TOP, QUESTIONS}
    for page in documents:
        folder = page.parent if page.name != README else page.parent.parent
        readme = folder / README
        if page not in listed and readme in known:
            below.setdefault(readme, []).append(page)
    return below


def _toctree(title: str, pages: Iterable[PurePosixPath]) -> str:
    names = "\n".join(f"/{page.with_suffix('')}" for page in pages)
    caption = f":caption: {title}\n" if title else ""
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n{names}\n```\n"


def _append(stage: Stage, page: PurePosixPath, text: str) -> None:
    with (stage.folder / page).open("a") as file:
        file.write(text)
