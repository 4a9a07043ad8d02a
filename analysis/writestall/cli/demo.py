# SPDX-License-Identifier: GPL-2.0-only
"""demo: explain the run that comes with the package, and open its page.

It needs neither root, a VM nor Linux: `inode-lock` on Linux 7.2, recorded by the lab.
"""

from __future__ import annotations

import argparse
import webbrowser
from importlib import resources
from pathlib import Path

from writestall.cli import options
from writestall_base import folders
from writestall_base.errors import UserError

SAMPLE = "sample"
FOLDER = "writestall-demo"
TOP = 1


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder, and whether to open a browser."""
    what = f"copy the run to this new folder (./{FOLDER})"
    parser.add_argument(
        "-o", "--output", type=Path, default=FOLDER, metavar="DIR", help=what
    )
    parser.add_argument("--no-browser", action="store_true", help="open no page")


def main(args: argparse.Namespace) -> int:
    """Print the slowest call's chain, write the page, and open it."""
    from writestall.chain import answers
    from writestall.cli import report
    from writestall.events import run_directory
    from writestall.report import text

    folder = copied(args.output)
    answer = answers.answer(run_directory.open_run(folder), None)
    page = folder / report.NAME
    report.save_page(answer)
    options.print_lines(text.report(answer, TOP, None, []))
    options.print_lines(after(folder, page))
    if not args.no_browser:
        webbrowser.open(page.resolve().as_uri())
    return options.ANSWERED


def copied(folder: Path) -> Path:
    """A copy of the sample run; raise where the folder cannot be made."""
    try:
        with resources.as_file(resources.files("writestall") / SAMPLE) as sample:
            folders.copy(sample, folder)
    except FileExistsError:
        raise UserError(f"{folder}: exists; name a new folder with -o") from None
    except OSError as error:
        why = f"{folder}: {error.strerror}; name another folder with -o"
        raise UserError(why) from None
    return folder


def after(folder: Path, page: Path) -> list[str]:
    """What to look at next."""
    return [
        "",
        f"page: {page}",
        "next:",
        f"  writestall explain {folder} --top 3  every chain, down to the disk",
        f"  writestall check {folder}            against the injector's own record",
        f"  writestall heatmap {folder}          when it stalled, and how long",
    ]
