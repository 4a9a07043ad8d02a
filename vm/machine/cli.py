# SPDX-License-Identifier: GPL-2.0-only
"""cli: command lines of vm/run, build and enter to calls and exit statuses."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from machine import accel, errors, image, qemu, recipe, run, signals
from machine.errors import UserError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake gets one line and a status no command uses."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see vm/{self.prog.rpartition('/')[2]} --help)")


def size(text: str) -> int:
    """512M, 2G, 65536: a size in bytes."""
    found = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 512M or 2G")
    return int(found[1]) * UNITS[found[2]]


# What a machine runs on: a share there, or above, would take it away.
OF_THE_MACHINE = [
    Path("/", name)
    for name in f"bin dev etc lib proc run sbin sys usr {run.GUEST_PROJECT}".split()
]


def share(text: str) -> qemu.Share:
    """HOSTDIR:GUESTDIR[:ro]."""
    found = re.fullmatch(r"([^:,]+):(/[^:,\s]*)(:ro)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOSTDIR:GUESTDIR[:ro]")
    guests = Path(os.path.normpath(found[2]))
    if hidden := [path for path in OF_THE_MACHINE if path.is_relative_to(guests)]:
        raise argparse.ArgumentTypeError(
            f"{found[2]} would hide the machine's own {hidden[0]}: share at /mnt/NAME"
        )
    return qemu.Share(folder(found[1]), found[2], bool(found[3]))


def folder(text: str) -> Path:
    """A folder that is there."""
    path = Path(text).absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is not a folder")
    return path


def _add_image_options(parser: Parser) -> None:
    add = parser.add_argument
    add("-k", "--kernel", metavar="NAME", help="a kernel of vm/kernels.toml")
    add(
        "--full",
        action="store_true",
        help="the full image, with the tools of vm/packages-full.txt",
    )


def _run_parser() -> Parser:
    parser = Parser(
        prog="vm/run",
        description="Run one command in a throwaway machine and return its status.",
        epilog="Statuses of the machine itself: 122 the kernel complained, 123 the"
        " machine was lost, 124 the time limit passed, 125 no machine was started.",
    )
    _add_image_options(parser)
    add = parser.add_argument
    add("--share", metavar="HOST:GUEST[:ro]", type=share, action="append", default=[])
    add(
        "--disk",
        metavar="SIZE",
        type=size,
        default=2 << 30,
        help="of each scratch disk (2G)",
    )
    add(
        "--disks",
        metavar="DIR",
        type=folder,
        help="keep the scratch disks there, for another machine to find",
    )
    add(
        "--memory", metavar="SIZE", type=size, default=2 << 30, help="of the guest (2G)"
    )
    add("--cpus", metavar="N", type=int, default=2)
    add("--timeout", metavar="S", type=float, default=600.0, help="seconds (600)")
    add(
        "--cwd",
        metavar="DIR",
        default=run.GUEST_PROJECT,
        help="where the command starts",
    )
    add("--console", metavar="FILE", type=Path, help="keep the console there")
    add(
        "--result",
        metavar="FILE",
        type=Path,
        help="write the machine's verdict as JSON",
    )
    add("--excuse", metavar="REGEX", help="frames whose hung tasks are held on purpose")
    add("--shell", action="store_true", help="an interactive shell, no command")
    add("command", nargs="*", metavar="COMMAND", help="behind --")
    return parser


def _run(arguments: list[str]) -> int:
    parser = _run_parser()
    options = parser.parse_args(arguments)
    if bool(options.command) == options.shell:
        parser.error("give a command behind --, or --shell")
    job = run.Job(
        argv=tuple(options.command),
        kernel=options.kernel,
        full_image=options.full,
        shares=tuple(options.share),
        disk_bytes=options.disk,
        disks=options.disks,
        memory_bytes=options.memory,
        cpus=options.cpus,
        timeout_s=None if options.shell else options.timeout,
        cwd=options.cwd,
        console=options.console,
        excused_frames=options.excuse,
        interactive=options.shell,
    )
    result = run.run(job)
    if options.result:
        run.save(result, options.result)
    return result.exit_status


def _kernel_list(known: recipe.Recipe) -> str:
    rows = image.kernels(known).values()
    return "\n".join(f"{row.name} {row.release}" for row in rows)


def _accel_line(known: recipe.Recipe) -> str:
    choice = accel.choose(known, image.kernel(known))
    return f"{choice.name}: {choice.reason}"


# What `vm/build` can make; each prints where it is, and is quick when it is.
TARGETS: dict[str, Callable[[recipe.Recipe], str]] = {
    "qemu": lambda known: f"{image.tools(known)} (QEMU {qemu.version(known)})",
    "tree": lambda known: str(image.tree(known)),
    "disk": lambda known: str(image.disk(known)),
    "kernels": _kernel_list,
    "release": lambda known: image.kernel(known).release,
    "accel": _accel_line,
}


def _build(arguments: list[str]) -> int:
    parser = Parser(prog="vm/build", description="Build parts of the machine.")
    _add_image_options(parser)
    parser.add_argument("target", choices=TARGETS, nargs="+")
    options = parser.parse_args(arguments)
    known = recipe.load(options.kernel, full=options.full)
    for target in options.target:
        print(TARGETS[target](known), flush=True)
    return 0


def _enter(arguments: list[str]) -> int:
    """Run a command in an image's root; what it writes there goes with it."""
    parser = Parser(prog="vm/enter", description="Run a command in an image's root.")
    _add_image_options(parser)
    parser.add_argument("bind", metavar="HOST:DIR[:ro]", nargs="*")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options, command = parser.parse_args(arguments[:at]), arguments[at:]
    if not command[1:]:
        parser.error("give a command behind --")
    home = image.tree(recipe.load(options.kernel, full=options.full))
    enter = [*image.as_owner(), str(recipe.VM / "enter.sh"), str(home)]
    return subprocess.run([*enter, *options.bind, *command], check=False).returncode


PROGRAMS = {"run": _run, "build": _build, "enter": _enter}


def main(program: str) -> int:
    """Run one of the programs; mistakes become one line and EXIT_SETUP."""
    signals.end_in_order()
    try:
        return PROGRAMS[program](sys.argv[1:])
    except (UserError, OSError) as error:
        print(f"vm/{program}: {error}", file=sys.stderr)
        return errors.EXIT_SETUP
    except KeyboardInterrupt:
        print(f"vm/{program}: interrupted", file=sys.stderr)
        return signals.INTERRUPTED
