# SPDX-License-Identifier: GPL-2.0-only
"""report: write the answer to a run as one HTML page that opens from disk."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.cli import options
from writestall_base.errors import UserError

if TYPE_CHECKING:
    from writestall.chain.answers import Answer
    from writestall.events.run_directory import RunDir

NAME = "report.html"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN and the page's name."""
    options.add_run(parser)
    options.add_output(parser, f"write to FILE (RUN/{NAME})")
    options.add(parser, "--all", "--engine")


def save_page(
    answer: Answer, path: Path | None = None, failure: str | None = None
) -> None:
    """Write the page to a path that the user gave, or into the run; it names the
    failure where there is one."""
    from writestall.report import page
    from writestall_base import files

    made = page.page(answer, failure).encode()
    if path:
        files.save(path, made)
    else:
        answer.run.save(NAME, made)


def answer_or_page(
    args: argparse.Namespace, run: RunDir, path: Path | None = None
) -> Answer:
    """The answer to a run; where it has none, write a page that says why, and raise."""
    from writestall.report import page

    try:
        return options.read_answer(args, run)
    except UserError as error:
        # Somebody opens the page: it must say what is wrong, as the terminal does.
        save_page(page.unreadable(run), path, str(error))
        raise


def main(args: argparse.Namespace) -> int:
    """Write the page; print its name."""
    run = options.open_run(args)
    save_page(answer_or_page(args, run, args.output), args.output)
    options.print_lines([str(args.output or run.path / NAME)])
    return options.ANSWERED
