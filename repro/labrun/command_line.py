# SPDX-License-Identifier: GPL-2.0-only
"""command_line: what the command lines of repro/ have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from labrun.errors import (
    EXIT_FAILED,
    EXIT_REFUSED,
    RefusedError,
    StepError,
    StoppedError,
)
from labrun.progress import say


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line; takes no abbreviated option."""

    def __init__(
        self, prog: str, description: str = "", epilog: str = "", **more: Any
    ) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **more,
        )

    def error(self, message: str) -> NoReturn:
        raise RefusedError(f"{message}; see --help")


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers in a range, for argparse."""

    def parse(text: str) -> int:
        good = text.isascii() and text.isdigit() and len(text) < 20
        if not good or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r}: want {low} to {high}")
        return int(text)

    return parse


def carry_out(
    parser: argparse.ArgumentParser,
    command: Callable[[argparse.Namespace], int],
    argv: Sequence[str] | None = None,
) -> int:
    """Parse the command line and run the command; print what fails in one line each.

    Returns the exit status.
    """
    try:
        return command(parser.parse_args(argv))
    except RefusedError as refused:
        lines, status = refused.lines, EXIT_REFUSED
    except (StepError, OSError) as failed:
        lines, status = (str(failed),), EXIT_FAILED
    except StoppedError as stopped:  # before the first step: nothing to undo
        lines, status = (str(stopped),), 128 + stopped.signal_number
    for line in lines:
        say(f"{parser.prog}: {line}")
    return status
