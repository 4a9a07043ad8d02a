# SPDX-License-Identifier: GPL-2.0-only
"""main: find a command, parse its options, call it, and report errors in one line.

Exit status: 0 answered, 1 a check failed, 2 bad input or usage, or the answer could not
be written, 3 there is nothing to check by. Only the module of the command is imported,
and it imports what it needs when it runs.
"""

from __future__ import annotations

import argparse
import codecs
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, Protocol, TextIO, cast

from writestall import __version__
from writestall.cli.commands import (
    COMMANDS,
    DEV,
    DEV_GROUPS,
    Command,
    overview,
    spelled,
)
from writestall.cli.options import ANSWERED
from writestall.cli.parser import command_parser
from writestall_base.command_line import nearest
from writestall_base.errors import INTERRUPTED, UserError
from writestall_base.stop import handled
from writestall_base.units import escaped, printable

HELP = {"-h", "--help"}
# They end a command as Ctrl-C does: it removes its drafts.
ENDING = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.default_int_handler)


class Checkout(Protocol):
    """What the program of a checkout can do besides: lab/driver/checkout.py."""

    def call(self, name: str, module: str, args: argparse.Namespace) -> int:
        """Call a command that is not in this package; return its exit status."""

    def enter_venv(self, name: str, extras: tuple[str, ...], words: list[str]) -> None:
        """Run the command again in a Python that has its libraries, if need be."""


def _escapes(error: UnicodeError) -> tuple[str, int]:
    """Characters that a stream's encoding has not: codecs.register_error()."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(escaped, error.object[error.start : error.end])), error.end


ESCAPES = "writestall.escapes"
codecs.register_error(ESCAPES, _escapes)


def _find(word: str, checkout: Checkout | None) -> Command:
    """The command of that name; refuse one that is not known or not here."""
    if word not in COMMANDS:
        what = "option" if word.startswith("-") else "command"
        hint = nearest(word, COMMANDS) or "; see writestall --help"
        raise UserError(f"unknown {what} {word!r}{hint}")
    command = COMMANDS[word]
    if not checkout and command.lacks:
        raise UserError(
            f"{word}: needs {command.lacks}, where you run"
            f" ./writestall {spelled(command)}; see docs/install.md"
        )
    return command


def _parse(command: Command, words: list[str]) -> argparse.Namespace:
    """The command's arguments; what follows `--` is args.tail where it takes that."""
    at = words.index("--") if command.tail and "--" in words else len(words)
    args: argparse.Namespace = command_parser(command).parse_args(words[:at])
    args.tail = words[at + 1 :]
    if command.root and os.geteuid() != 0 and not HELP & set(words):
        raise UserError(f"{command.name}: needs root; run it with sudo")
    return args


def _answer(command: Command, args: argparse.Namespace) -> int:
    """Call a command that needs no checkout."""
    # Events and chains form no cycles; looking for some takes a fifth of a long run.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with handled(ENDING) if command.packaged else nullcontext():
            status: int = importlib.import_module(command.module).main(args)
    finally:
        if collecting:
            gc.enable()
    return status


def _call(words: list[str], checkout: Checkout | None) -> int:
    if not words or words[0] in HELP:
        print("\n".join(overview()))
        return ANSWERED
    if words[0] == DEV:
        words = words[1:]
        if not words or words[0] in HELP:
            print("\n".join(overview(DEV_GROUPS)))
            return ANSWERED
    if words[0] == "--version":
        print(__version__)
        return ANSWERED
    command = _find(words[0], checkout)
    args = _parse(command, words[1:])
    if checkout is None:
        # The Python that runs has the libraries.
        args.python = lambda: sys.executable
        return _answer(command, args)
    if not command.packaged:
        return checkout.call(command.name, command.module, args)
    checkout.enter_venv(command.name, command.extras or (), words)
    return _answer(command, args)


class _Output:
    """A stream that knows the error that kept it from being written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        with self._noted():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._noted():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = error
            raise


def _call_and_flush(words: list[str], checkout: Checkout | None) -> int:
    """Call a command; raise OSError where what it printed could not be written."""
    try:
        return _call(words, checkout)
    finally:
        sys.stdout.flush()


def _printed(words: list[str], checkout: Checkout | None) -> int:
    """Call a command; what its output cannot take is said, and not tried again."""
    output = _Output(sys.stdout)
    try:
        with redirect_stdout(cast(TextIO, output)):
            return _call_and_flush(words, checkout)
    except OSError as error:
        if error is not output.error:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        if isinstance(error, BrokenPipeError):  # its reader wants no more
            return ANSWERED
        raise UserError(f"standard output: {error.strerror}") from None


def main(argv: Sequence[str] | None = None, *, checkout: Checkout | None = None) -> int:
    """Run one command; return its exit status. `checkout` adds those of a checkout."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding gets \\xNN, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPES)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return _printed(list(sys.argv[1:] if argv is None else argv), checkout)
    except UserError as error:
        print(f"writestall: {printable(str(error))}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("writestall: interrupted", file=sys.stderr)
        return INTERRUPTED
