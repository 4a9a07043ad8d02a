# SPDX-License-Identifier: GPL-2.0-only
"""command_line: parse a command line, and run what it asks for to an exit status."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from writestall_base.errors import EXIT_FAILED, INTERRUPTED, UserError
from writestall_base.progress import say

MOST = 2**63 - 1
# Words that are no choice any more, and what does their work.
REMOVED = {"bpftrace": "core"}


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?`, or nothing where no known word is near."""
    found = get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


class Parser(argparse.ArgumentParser):
    """Raise UserError for a mistake, with the nearest known word; take no
    abbreviated options. A description or epilog of several lines stays as it is."""

    def __init__(
        self, prog: str, description: str = "", epilog: str = "", **more: Any
    ) -> None:
        if "\n" in description + epilog:
            more["formatter_class"] = argparse.RawDescriptionHelpFormatter
        more |= {"description": description, "epilog": epilog}
        super().__init__(prog, **{"allow_abbrev": False} | more)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = nearest(str(value), known) or f"; use {', '.join(known)}"
            if (instead := REMOVED.get(str(value))) in known:
                hint = f": it was removed; use {instead}, which has the same events"
            raise argparse.ArgumentError(action, f"unknown {str(value)!r}{hint}")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            if word.startswith("-"):
                hint = nearest(word, self._option_string_actions)
                self.error(f"unknown option {word}{hint}")
            self.error(f"unexpected argument {word!r}")
        return found, unknown

    def carry_out(
        self,
        command: Callable[[argparse.Namespace], int],
        argv: Sequence[str] | None = None,
    ) -> int:
        """Parse the command line and carry the command out; return the exit status."""
        return exit_status(self.prog, lambda: command(self.parse_args(argv)))


class Exported(argparse.Action):
    """Set the environment's variable `dest`, which the programs that we start read,
    too: to `const`, or to what is given."""

    def __call__(self, *given: Any) -> None:
        os.environ[self.dest] = self.const or given[2]


def whole(low: int = 1, high: int = MOST) -> Callable[[str], int]:
    """An argument type: whole numbers in a range."""
    want = f"{low} to {high}" if high < MOST else f"a whole number, {low} or more"

    def parse(text: str) -> int:
        good = text.isascii() and text.isdigit() and len(text) < 20
        if not good or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r}: want {want}")
        return int(text)

    return parse


def words(given: Mapping[str, object]) -> list[str]:
    """Options by their names as words of a command line, those that are not None."""
    return [
        word
        for name, value in given.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def some_path(text: str) -> Path:
    """An argument type: a path; an empty one is not the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("want a path, and this is empty")
    return Path(text)


def exit_status(name: str, command: Callable[[], int]) -> int:
    """Run a command of that name; print what fails in one line each.

    Returns the exit status.
    """
    try:
        return command()
    except UserError as error:
        lines, status = error.lines, error.status
    except OSError as error:
        lines, status = (str(error),), EXIT_FAILED
    except KeyboardInterrupt:
        lines, status = ("interrupted",), INTERRUPTED
    for line in lines:
        say(f"{name}: {line}")
    return status
