# SPDX-License-Identifier: GPL-2.0-only
"""command_lines: find the command lines of the documents' blocks of code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support import PROJECT
from website.links import blocks

PROGRAM = re.compile(
    r"^(?:\$ )?(?:sudo )?(?P<words>(?:\./)?writestall\b.*|make\b.*)$", re.DOTALL
)
INLINE = re.compile(r"`(?P<words>(?:(?:\./)?writestall|make)\s[^`]+)`")
# A description of the usage: [--option], one|other, OPTION...
SYNOPSIS = re.compile(r"\[-|\w\|\w|\.\.\.(?:\s|$)")
# A command's words, and what ends them for the shell unless it is quoted.
ENDS = re.compile(r"""((?:'[^']*'|"[^"]*"|[^'"])*?)\s(?:\||>|<|&&|;)\s.*""")
LOGICAL = re.compile(r"(?:.*\\\n)*.+")  # a line with those that continue it
SUBSTITUTED = re.compile(r'"\$\([^)]*\)"')


@dataclass(frozen=True)
class Line:
    """A command line, and where it is."""

    place: str
    text: str

    @property
    def plain(self) -> str:
        """The line without `dev`, which no command's own parser sees."""
        return self.text.replace("writestall dev ", "writestall ", 1)

    @property
    def words(self) -> list[str]:
        """Its words as the shell hands them over; a substitution is the word 1."""
        text = SUBSTITUTED.sub("1", self.plain)
        if found := ENDS.fullmatch(text):
            text = found[1]
        return shlex.split(text, comments=True)

    @property
    def program(self) -> str:
        """`writestall` or `make`."""
        return self.words[0].removeprefix("./")

    @property
    def is_synopsis(self) -> bool:
        """Whether it says what can be written, rather than what to write."""
        return SYNOPSIS.search(self.text.partition("#")[0]) is not None

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def documents() -> list[Path]:
    """The documents whose commands are tested."""
    return [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]


def targets() -> dict[str, set[str]]:
    """The targets of the Makefile, each with the variables that it takes."""
    text = (PROJECT / "Makefile").read_text()
    groups = dict(re.findall(r"^(OF_\w+) = (.*)$", text, re.MULTILINE))

    def named(words: str) -> set[str]:
        opened = re.sub(r"\$\((OF_\w+)\)", lambda hit: groups[hit[1]], words)
        return named(opened) if opened != words else set(words.split())

    rows = re.findall(r"^([a-z-]+): ##.*\n\t\$\(call only,?(.*)\)$", text, re.M)
    return {target: named(words) for target, words in rows}


def in_text(text: str, name: str) -> Iterator[Line]:
    """The command lines in the blocks of code of a document."""
    at = 0
    for is_code, part in blocks(text):
        for line in LOGICAL.finditer(part) if is_code else ():
            if found := PROGRAM.match(line[0].strip()):
                number = text.count("\n", 0, at + line.start()) + 1
                joined = " ".join(found["words"].replace("\\\n", " ").split())
                yield Line(f"{name}:{number}", joined)
        at += len(part)


def in_prose(text: str, name: str) -> Iterator[Line]:
    """The commands that sentences and tables name, their parts often left open."""
    for is_code, part in blocks(text):
        for found in () if is_code else INLINE.finditer(part):
            yield Line(name, " ".join(found["words"].split()))


def named_commands() -> list[Line]:
    """The commands that the prose of all documents names."""
    return [
        line
        for path in sorted(documents())
        for line in in_prose(path.read_text(), str(path.relative_to(PROJECT)))
    ]


def all_lines() -> list[Line]:
    """The command lines of all documents, in their order."""
    return [
        line
        for path in sorted(documents())
        for line in in_text(path.read_text(), str(path.relative_to(PROJECT)))
    ]
