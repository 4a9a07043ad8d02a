# SPDX-License-Identifier: GPL-2.0-only
"""outputs: the commands that hand a run to other programs, and to the eye."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.common.errors import WritestallError
from writestall.common.files import save
from writestall.common.units import printable
from writestall.export.formats import FORMATS, export, load

if TYPE_CHECKING:
    from writestall.chain.answers import Answer

Call = Callable[[argparse.Namespace], int]
# cli's own way to add a command that reads a run: name, call, what, example.
Add = Callable[[str, Call, str, str], argparse.ArgumentParser]
PICTURES = (".svg", ".png")
# Columns of a heat map in a picture: as many as its letters can be told apart in.
PICTURE_COLUMNS = 120


def add_commands(add: Add) -> None:
    """Adds `export`, `hist` and `heatmap` to the command line."""
    formats = "; ".join(f"{name}: {row.what}" for name, row in FORMATS.items())
    to = add(
        "export",
        _export,
        "a run in another program's format",
        "writestall export out/latest --to perfetto -o run.pftrace",
    )
    to.add_argument("--to", required=True, choices=FORMATS, help=formats)
    hist = add(
        "hist",
        _hist,
        "how the latencies are distributed, and what the stalls waited for",
        "writestall hist out/latest --what-if journal_buffer=0",
    )
    hist.add_argument(
        "--what-if",
        metavar="CLASS=0",
        help="the distribution if waits of this class had taken no time",
    )
    heat = add(
        "heatmap",
        _heatmap,
        "time by latency, and what the stalls waited for",
        "writestall heatmap out/latest -o run.svg",
    )
    variants = add(
        "variants",
        _variants,
        "what the application saw in each run of a folder of them",
        "writestall variants out/latest-variants",
    )
    variants.add_argument("--json", action="store_true", help="print JSON")
    for command, what in (
        (to, "where to; a new folder for parquet (standard output)"),
        (hist, "a picture instead, .svg or .png"),
        (heat, "a picture instead, .svg or .png"),
    ):
        command.add_argument("-o", "--output", type=Path, metavar="FILE", help=what)
        command.add_argument(
            "--all",
            action="store_true",
            help="writes to other disks than the run's too",
        )
        command.add_argument(
            "--engine",
            choices=("stap", "bpftrace"),
            help="whose events (stap where both are there)",
        )


def _answer(args: argparse.Namespace) -> Answer:
    from writestall.chain import answers
    from writestall.events import run_directory

    return answers.answer(run_directory.open_run(args.run), args.engine, args.all)


def _export(args: argparse.Namespace) -> int:
    target = None if args.output == Path("-") else args.output
    answer = _answer(args)
    text = export(answer, args.to, target)
    for note in answer.notes:
        print(f"note: {printable(note)}", file=sys.stderr)
    if text is not None:
        # A terminal would obey what names hold; a pipe gets them as they are.
        seen = sys.stdout.isatty()
        lines = text.splitlines() if seen else []
        sys.stdout.write("".join(f"{printable(ln)}\n" for ln in lines) or text)
    return 0


def _suffix(args: argparse.Namespace) -> str:
    """What picture is wanted; raises where the name does not say."""
    suffix: str = args.output.suffix.lower()
    if suffix not in PICTURES:
        raise WritestallError(f"{args.output}: want a name in {' or '.join(PICTURES)}")
    return suffix


def _hist(args: argparse.Namespace) -> int:
    if args.what_if is not None:
        return _what_if(args)
    from writestall.pictures import distribution as hist
    from writestall.pictures import terminal

    suffix = _suffix(args) if args.output else ""
    answer = _answer(args)
    found = hist.histogram(answer)
    if suffix:
        picture = load("pictures.image", "matplotlib")
        save(args.output, picture.histogram(answer, found, suffix))
    else:
        terminal.show(terminal.histogram(answer, found))
    return 0


def _what_if(args: argparse.Namespace) -> int:
    from writestall.pictures import terminal, terminal_what_if
    from writestall.whatif import proof, removal

    suffix = _suffix(args) if args.output else ""
    cls, _, left = args.what_if.partition("=")
    if cls not in removal.CLASSES or left != "0":
        known = ", ".join(removal.CLASSES)
        raise WritestallError(f"--what-if {args.what_if}: want CLASS=0 of {known}")
    answer = _answer(args)
    found = removal.what_if(answer, cls)
    if suffix:
        picture = load("pictures.image", "matplotlib")
        save(args.output, picture.what_if(answer, found, suffix))
    else:
        proofs = proof.proofs(cls, answer.run.get("filesystem", "type"))
        terminal.show(terminal_what_if.what_if(answer, found, proofs))
    return 0


def _heatmap(args: argparse.Namespace) -> int:
    from writestall.pictures import terminal, time_grid

    suffix = _suffix(args) if args.output else ""
    answer = _answer(args)
    if suffix:
        found = time_grid.heat_map(answer, PICTURE_COLUMNS)
        picture = load("pictures.image", "matplotlib")
        save(args.output, picture.heat_map(answer, found, suffix))
    else:
        found = time_grid.heat_map(answer, terminal.columns())
        terminal.show(terminal.heat_map(answer, found))
    return 0


def _variants(args: argparse.Namespace) -> int:
    from writestall.compare import variants
    from writestall.events.run_directory import json_bytes

    found = variants.rows(args.run)
    told = json_bytes(found)
    # A folder that refuses must not hide the answer.
    with contextlib.suppress(WritestallError):
        save(args.run / "variants.json", told)
    if args.json:
        sys.stdout.write(told.decode())
    else:
        for line in variants.lines(found):
            print(printable(line))
    return 0
