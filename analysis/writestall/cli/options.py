# SPDX-License-Identifier: GPL-2.0-only
"""options: the arguments that several commands share, and how they print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from writestall.common.compressed import DEFAULT, MIB, Bound
from writestall.events.calls import GROUPS
from writestall.export.formats import load
from writestall_base.command_line import whole
from writestall_base.errors import UserError
from writestall_base.files import save
from writestall_base.units import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from writestall.chain.answers import Answer
    from writestall.events.run_directory import RunDir

ENGINES = ("stap", "core", "bpftrace")
ANSWERED, FAILED, BAD_INPUT, UNJUDGED = 0, 1, 2, 3
PICTURES = (".svg", ".png")


def existing(text: str) -> Path:
    """An argument type: a path that exists; checked before any library is needed."""
    if not (path := Path(text)).exists():
        raise UserError(f"{text}: no such run or folder")
    return path


def number(most: float, what: str) -> Callable[[str], float]:
    """An argument type: a number from 0 to `most`."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!a}: want {what}")
        return value

    return read


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add RUN."""
    parser.add_argument("run", type=existing, metavar="RUN", help="run directory")
    add(parser, "--unpack-mib")


def bound(args: argparse.Namespace) -> Bound:
    """How much compressed input may unpack to."""
    return Bound.of(args.unpack_mib)


def open_run(args: argparse.Namespace) -> RunDir:
    """RUN, opened."""
    from writestall.events import run_directory

    return run_directory.open_run(args.run, bound(args))


def calls(text: str) -> frozenset[str]:
    """An argument type: names of calls and groups, with commas between."""
    chosen = set()
    for word in text.split(","):
        names = GROUPS.get(word, (word,))
        if not any(names[0] in group for group in GROUPS.values()):
            groups = ", ".join(GROUPS)
            raise argparse.ArgumentTypeError(
                f"{word}: no call of a file system; docs/events.md lists them, or give"
                f" a group: {groups}"
            )
        chosen |= set(names)
    return frozenset(chosen)


# Options of the commands that read a run, each with one meaning.
SHARED: dict[str, dict[str, Any]] = {
    "--all": {
        "action": "store_true",
        "help": "include writes to other disks than the run's",
    },
    "--call": {
        "type": calls,
        "metavar": "C,C",
        "help": "only these calls, or groups of them: docs/events.md lists both",
    },
    "--engine": {
        "choices": ENGINES,
        "help": "the tracer whose events to use (the first that the run has)",
    },
    "--json": {"action": "store_true", "help": "print JSON"},
    "--unpack-mib": {
        "type": whole(),
        "metavar": "MIB",
        "help": f"largest size of unpacked input ({DEFAULT.most_bytes // MIB}, and"
        f" {DEFAULT.most_ratio} times its size)",
    },
}


def add(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add options of SHARED."""
    for name in names:
        parser.add_argument(name, **SHARED[name])


def add_output(
    parser: argparse.ArgumentParser, what: str, kind: Callable[[str], Path] = Path
) -> None:
    """Add --output."""
    parser.add_argument("-o", "--output", type=kind, metavar="FILE", help=what)


def picture(text: str) -> Path:
    """An argument type: the file of a picture, whose name says its format."""
    if (path := Path(text)).suffix.lower() not in PICTURES:
        raise UserError(f"{text}: want a name in {' or '.join(PICTURES)}")
    return path


def add_picture(parser: argparse.ArgumentParser) -> None:
    """Add what the commands that draw a run take."""
    add_run(parser)
    add_output(parser, "write a picture instead, .svg or .png", picture)
    add(parser, "--all", "--engine")


def read_answer(args: argparse.Namespace, run: RunDir | None = None) -> Answer:
    """The answer to `run`, or to RUN, as --engine and --all choose it."""
    from writestall.chain import answers

    run = run or open_run(args)
    every, only = getattr(args, "all", False), getattr(args, "call", None)
    return answers.answer(run, args.engine, every, only)


def show(
    target: Path | None,
    draw: Callable[[Any, str], bytes],
    text: Callable[[], Iterable[RenderableType]],
) -> int:
    """Save what `draw` makes with pictures.image as `target`; without it, print."""
    if target:
        image = load("writestall.pictures.image", "matplotlib")
        save(target, draw(image, target.suffix.lower()))
    else:
        from writestall.pictures import terminal

        terminal.show(text())
    return ANSWERED


def print_lines(lines: Iterable[str]) -> None:
    """Print lines whose names come from users: no terminal control gets out."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    from writestall.events.run_directory import json_bytes

    sys.stdout.write(json_bytes(value).decode())
