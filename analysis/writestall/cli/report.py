# SPDX-License-Identifier: GPL-2.0-only
"""report: write the answer to a run as one HTML page that opens from disk."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.cli import options
from writestall.common.errors import WritestallError

if TYPE_CHECKING:
    from writestall.chain.answers import Answer

NAME = "report.html"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN and the page's name."""
    options.add_run(parser)
    options.add_output(parser, f"write to FILE (RUN/{NAME})")
    options.add_all(parser)
    options.add_engine(parser)


def save_page(answer: Answer, path: Path, failure: str | None = None) -> None:
    """Write the page; it names the failure where there is one."""
    from writestall.common import files
    from writestall.report import page

    files.save(path, page.page(answer, failure).encode())


def main(args: argparse.Namespace) -> int:
    """Write the page; print its name."""
    return write(args, args.output)


def write(args: argparse.Namespace, output: Path | None) -> int:
    """Write the page to `output` or into the run; print its name."""
    from writestall.events import run_directory
    from writestall.report import page

    path = output or args.run / NAME
    try:
        answer = options.read_answer(args)
    except WritestallError as error:
        # Somebody opens the page: it must say what is wrong, as the terminal does.
        unread = page.unreadable(run_directory.open_run(args.run))
        save_page(unread, path, str(error))
        raise
    save_page(answer, path)
    options.print_lines([str(path)])
    return options.ANSWERED
