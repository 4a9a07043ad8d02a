# SPDX-License-Identifier: GPL-2.0-only
"""vm: open a shell in a throwaway machine, or run a command there, as vm/vm run."""

from __future__ import annotations

import argparse

from driver import artefacts
from driver.machines import PREPARING, prepare
from driver.progress import Progress
from driver.project import PROJECT
from driver.settings import Settings
from machine import cli, recipe


def arguments(parser: argparse.ArgumentParser) -> None:
    cli.add_image(parser)
    cli.add_machine(parser)
    built = "compile what `writestall lab` needs, unless it did, for /mnt/build"
    parser.add_argument("--built", action="store_true", help=built)
    lessons = "the same, and SystemTap's lessons"
    parser.add_argument("--lessons", action="store_true", help=lessons)


def main(args: argparse.Namespace) -> int:
    """Run the machine; return the command's status, or the machine's own."""
    if args.built or args.lessons:
        kernel = recipe.load(args.kernel).kernel
        settings = Settings(kernel, args.accel, PROJECT / "out", verbose=False)
        _, built = prepare(Progress(PREPARING), settings)
        folder = artefacts.build(kernel, artefacts.LESSONS) if args.lessons else built
        args.share = [*args.share, cli.share(f"{folder}:/mnt/build:ro")]
    return cli.run_machine(args, args.tail)
