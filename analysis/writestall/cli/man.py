# SPDX-License-Identifier: GPL-2.0-only
"""man: print writestall(1) as roff; its text is that of `--help`."""

from __future__ import annotations

import argparse
import re

from writestall import __version__
from writestall.cli import options, parser
from writestall.cli.commands import COMMANDS
from writestall.export.formats import load

# Sections that --help has not: each entry is a tagged paragraph.
SECTIONS: dict[str, dict[str, str]] = {
    "exit status": {
        "0": "The question was answered.",
        "1": "A check failed, or an answer to a lab is not right.",
        "2": "Bad input or usage, or the answer could not be written. Nothing else"
        " was done.",
        "3": "There is nothing to check by.",
        "128 + N": "Signal N ended the program; with Ctrl\\-C, 130.",
    },
    "files": {
        "out/": "Runs of the lab, and the work on the course, below the current folder;"
        " \\-\\-out names another one. docs/run\\-directory.md says what a run is.",
        "$XDG_CACHE_HOME/writestall": "In a checkout: the image, kernels, compiled"
        " parts and Python's libraries, which can all be made again. Without the"
        " variable, ~/.cache/writestall.",
        "/var/lib/writestall/watch": "What the service of watch keeps of stalls.",
    },
}
# Commands whose example is printed again in one place.
EXAMPLES = ("demo", "explain", "report", "course", "record", "watch", "lab")
USAGE = re.compile(r"^(usage: (?:.+\n)+)", re.M)
# The headings that argparse-manpage gives a command and its options.
COMMAND = re.compile(r"^\.SH COMMAND \\fI\\,'(.+)'\\/\\fR$", re.M)
COMMANDS_OPTIONS = re.compile(r"^\.SH OPTIONS \\fI\\,'.+'\\/\\fR$", re.M)


def main(args: argparse.Namespace) -> int:
    """Print the page."""
    load("argparse_manpage", "argparse-manpage")
    from argparse_manpage.manpage import Manpage

    data = {
        "project_name": "writestall",
        "version": __version__,
        "manual_title": "User Commands",
        "description": "say why write(2) stalled",
    }
    page = Manpage(parser.whole_parser(), data)
    for heading, entries in SECTIONS.items():
        page.add_section(heading, "=", _tagged(entries))
    examples = (COMMANDS[name].example for name in EXAMPLES if name in COMMANDS)
    lines = "\n".join(f"writestall {one}".replace("-", "\\-") for one in examples)
    page.add_section("examples", "=", f".nf\n{lines}\n.fi")
    # A usage has its own line ends.
    text = USAGE.sub(r".nf\n\1.fi\n", str(page))
    text = text.replace("\n.SH\n", "\n.SH ")
    text = COMMAND.sub(lambda found: f".SH {found[1].upper()}", text)
    print(COMMANDS_OPTIONS.sub(".SS Options", text), end="")
    return options.ANSWERED


def _tagged(entries: dict[str, str]) -> str:
    """Tagged paragraphs."""
    return "\n".join(f".TP\n.B {tag}\n{text}" for tag, text in entries.items())
