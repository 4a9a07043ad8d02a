# SPDX-License-Identifier: GPL-2.0-only
"""main: find a command, parse its options, call it, and report errors in one line.

Exit status: 0 answered, 1 a check failed, 2 bad input or usage, 3 there is nothing to
check by. Only the module of the command is imported, and it imports what it needs when
it runs.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

from writestall import __version__
from writestall.cli.commands import COMMANDS, Command, overview
from writestall.cli.options import ANSWERED, BAD_INPUT
from writestall.cli.parser import UsageError, command_parser, nearest
from writestall.common.errors import WritestallError
from writestall.common.units import printable

HELP = {"-h", "--help"}
INTERRUPTED = 130  # as shells have it: 128 + SIGINT


def _find(word: str, *, checkout: bool) -> Command:
    """The command of that name; refuse one that is not known or not here."""
    if word not in COMMANDS:
        what = "option" if word.startswith("-") else "command"
        hint = nearest(word, COMMANDS) or "; see writestall --help"
        raise UsageError(f"unknown {what} {word!r}{hint}")
    command = COMMANDS[word]
    if not checkout and command.lacks:
        raise UsageError(
            f"{word}: needs {command.lacks}; git clone writestall and run"
            f" ./writestall {word} there"
        )
    return command


def _parse(command: Command, words: list[str]) -> argparse.Namespace:
    """The command's arguments; what follows `--` is args.tail where it takes that."""
    at = words.index("--") if command.tail and "--" in words else len(words)
    args: argparse.Namespace = command_parser(command).parse_args(words[:at])
    args.tail = words[at + 1 :]
    if command.root and os.geteuid() != 0 and not HELP & set(words):
        raise UsageError(f"{command.name}: needs root; run it with sudo")
    return args


def _answer(command: Command, args: argparse.Namespace) -> int:
    """Call a command that needs no checkout."""
    # Events and chains form no cycles; looking for some takes a fifth of a long run.
    collecting = gc.isenabled()
    gc.disable()
    try:
        status: int = importlib.import_module(command.module).main(args)
        sys.stdout.flush()
    finally:
        if collecting:
            gc.enable()
    return status


def _call(words: list[str], *, checkout: bool) -> int:
    if not words or words[0] in HELP:
        print("\n".join(overview()))
        return ANSWERED
    if words[0] == "--version":
        print(__version__)
        return ANSWERED
    command = _find(words[0], checkout=checkout)
    args = _parse(command, words[1:])
    if not checkout:
        # The Python that runs has the libraries.
        args.python = lambda: sys.executable
        return _answer(command, args)
    here = importlib.import_module("driver.checkout")
    if not command.packaged:
        status: int = here.call(command.name, command.module, args)
        return status
    here.enter_venv(command.name, command.extras, words)
    return _answer(command, args)


def main(argv: Sequence[str] | None = None, *, checkout: bool = False) -> int:
    """Run one command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding gets \\xNN, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return _call(list(sys.argv[1:] if argv is None else argv), checkout=checkout)
    except WritestallError as error:
        print(f"writestall: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("writestall: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe; keep the interpreter from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ANSWERED
