# SPDX-License-Identifier: GPL-2.0-only
"""parser: argparse with one-line errors that name the nearest known word."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from writestall import __version__
from writestall.cli.commands import CHECKOUT, COMMANDS, Command
from writestall.common.errors import WritestallError


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?`, or nothing where no known word is near."""
    found = get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


# Words that are no choice any more, and what does their work.
REMOVED = {"bpftrace": "core"}


class UsageError(WritestallError):
    """A command line that the program does not understand."""


class Parser(argparse.ArgumentParser):
    """Raise UsageError for a mistake; take no abbreviated options."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | more)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")

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


def _describe(command: Command) -> dict[str, Any]:
    """A command's description and example, for its --help."""
    text = f"{command.help[0].upper()}{command.help[1:]}."
    return {"description": text, "epilog": f"example: writestall {command.example}"}


def _fill(parser: Parser, command: Command) -> None:
    module = importlib.import_module(command.module)
    if hasattr(module, "arguments"):
        module.arguments(parser)
    if command.tail:
        what = f"after --: {command.tail}..."
        parser.epilog = f"{what}   {parser.epilog}"


def command_parser(command: Command) -> Parser:
    """The parser of one command; only its module is imported."""
    parser = Parser(prog=f"writestall {command.name}", **_describe(command))
    _fill(parser, command)
    return parser


def whole_parser() -> Parser:
    """One parser of all commands there are here, for completion and man page."""
    checkout = find_spec(CHECKOUT) is not None
    description = "Say why write(2) stalled: which lock, held by whom."
    parser = Parser(prog="writestall", description=description)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS.values():
        if checkout or not command.lacks:
            added = commands.add_parser(
                command.name, help=command.help, **_describe(command)
            )
            _fill(added, command)
    return parser


def some_path(text: str) -> Path:
    """An argument type: a path; an empty one is not the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("want a path, and this is empty")
    return Path(text)


def positive(text: str) -> int:
    """An argument type: whole numbers from 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("want 1 or more")
    return value
