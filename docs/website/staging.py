# SPDX-License-Identifier: GPL-2.0-only
"""staging: write the documents of the tree, and what they link to, as Sphinx's sources.

The staged folder has the tree's own paths, so that links between documents hold.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from website import file_pages
from website.links import Page, rewritten

TOP = PurePosixPath("README.md")
INDEX = PurePosixPath("index.md")
PICTURES = {".png", ".svg"}
DOCUMENT = ".md"
# A scenario's file is shown on the page of the scenario.
SCENARIOS, SCENARIO_PAGES = PurePosixPath("repro/scenarios"), PurePosixPath("scenarios")


@dataclass
class Stage:
    """The sources of the site while they are collected."""

    tree: Path
    folder: Path
    documents: list[PurePosixPath] = field(default_factory=list)
    # Pages that others made, in the order of the navigation, by its title.
    made: dict[str, list[PurePosixPath]] = field(default_factory=dict)
    linked: set[PurePosixPath] = field(default_factory=set)
    tracked: set[PurePosixPath] = field(init=False)
    folders: set[PurePosixPath] = field(init=False)

    def __post_init__(self) -> None:
        words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(
            words, cwd=self.tree, capture_output=True, text=True, check=True
        )
        files = map(PurePosixPath, listed.stdout.splitlines())
        self.tracked = {path for path in files if (self.tree / path).is_file()}
        above = {folder for path in self.tracked for folder in path.parents}
        self.folders = above - {PurePosixPath()}

    def take_documents(self) -> None:
        """Stage every document of the tree, its links rewritten."""
        self.documents = sorted(
            path for path in self.tracked if path.suffix == DOCUMENT
        )
        for path in self.documents:
            text = (self.tree / path).read_text()
            self.write(INDEX if path == TOP else path, self.resolved(path, text))

    def resolved(self, path: PurePosixPath, text: str) -> str:
        """The text of a document at that place of the tree, with the site's links."""
        return rewritten(Page(path, self._is_known), text, self.address)

    def address(self, place: PurePosixPath) -> str:
        """Where the site has a file or folder of the tree."""
        if place == TOP:
            return f"/{INDEX}"
        if place.suffix == DOCUMENT:
            return f"/{place}"
        if place.parent == SCENARIOS:
            return f"/{SCENARIO_PAGES / place.stem}{DOCUMENT}"
        self.linked.add(place)
        if place.suffix in PICTURES:
            return f"/{place}"
        return f"/{file_pages.name(place)}"

    def _is_known(self, place: PurePosixPath) -> bool:
        """Whether git has it: a file, or a folder with files."""
        return place in self.tracked or place in self.folders

    def take_linked(self) -> None:
        """Stage what is linked: pictures as they are, all else as pages of its text."""
        for place in sorted(self.linked):
            if place.suffix in PICTURES:
                (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.tree / place, self.folder / place)
            elif (self.tree / place).is_dir():
                self._write_folder(place)
            else:
                text = file_pages.of_file(self.tree, place)
                self.write(file_pages.name(place), text)

    def _write_folder(self, place: PurePosixPath) -> None:
        inside = sorted(path for path in self.tracked if path.parent == place)
        self.write(
            file_pages.name(place), file_pages.of_folder(self.tree, place, inside)
        )

    def write(self, path: PurePosixPath, text: str) -> None:
        """Write a page."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)
