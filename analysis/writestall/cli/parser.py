# SPDX-License-Identifier: GPL-2.0-only
"""parser: the command lines of the program, made of the table of commands."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from writestall import __version__
from writestall.cli.commands import CHECKOUT, COMMANDS, Command, spelled
from writestall_base.command_line import Parser


def _describe(command: Command) -> dict[str, Any]:
    """A command's description and example, for its --help."""
    text = f"{command.help[0].upper()}{command.help[1:]}."
    example = spelled(command) + command.example.removeprefix(command.name)
    return {"description": text, "epilog": f"example: writestall {example}"}


def _fill(parser: Parser, command: Command) -> None:
    module = importlib.import_module(command.module)
    if hasattr(module, "arguments"):
        module.arguments(parser)
    if command.tail:
        what = f"after --: {command.tail}..."
        parser.epilog = f"{what}   {parser.epilog}"


def command_parser(command: Command) -> Parser:
    """The parser of one command; only its module is imported."""
    parser = Parser(prog=f"writestall {spelled(command)}", **_describe(command))
    _fill(parser, command)
    return parser


def whole_parser() -> Parser:
    """One parser of all commands there are here, for completion and man page."""
    checkout = find_spec(CHECKOUT) is not None
    description = "Say why write(2) stalled: which lock, held by whom."
    parser = Parser(prog="writestall", description=description)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS.values():
        if checkout or not command.lacks:
            added = commands.add_parser(
                command.name, help=command.help, **_describe(command)
            )
            _fill(added, command)
    return parser
