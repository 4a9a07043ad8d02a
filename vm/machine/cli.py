# SPDX-License-Identifier: GPL-2.0-only
"""cli: parse the command lines of vm/vm build, enter and run, and call them."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import (
    accel,
    architectures,
    image,
    jars,
    layer,
    qemu,
    recipe,
    run,
    statuses,
)
from machine.commands import end_in_order
from writestall_base import JARS
from writestall_base.command_line import Exported, Parser
from writestall_base.errors import INTERRUPTED, UserError

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size(text: str) -> int:
    """512M, 2G, 65536: a size in bytes."""
    found = re.fullmatch(r"(\d+)([KMGT]?)", text)
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write 512M or 2G")
    return int(found[1]) * UNITS[found[2]]


# What the guest needs to run: a share there, or above, would hide it.
OF_THE_MACHINE = [
    Path("/", name)
    for name in f"bin dev etc lib proc run sbin sys usr {run.GUEST_PROJECT}".split()
]


def share(text: str) -> qemu.Share:
    """HOSTDIR:GUESTDIR[:ro]; HOSTDIR may hold colons, as a run of a variant does."""
    found = re.fullmatch(r"(.+):(/[^:,\s]*)(:ro)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOSTDIR:GUESTDIR[:ro]")
    guests = Path(os.path.normpath(found[2]))
    if hidden := [path for path in OF_THE_MACHINE if path.is_relative_to(guests)]:
        raise argparse.ArgumentTypeError(
            f"{found[2]} would hide the machine's own {hidden[0]}: share at /mnt/NAME"
        )
    return qemu.Share(folder(found[1]), found[2], bool(found[3]))


def folder(text: str) -> Path:
    path = Path(text).absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is not a folder")
    return path


def _parser(name: str, description: str, **more: Any) -> Parser:
    """The parser of one command, with the options that all have."""
    parser = Parser(f"vm/vm {name}", description, **more)
    add_image(parser)
    return parser


def add_image(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-k", "--kernel", metavar="KERNEL", help=recipe.WHAT_KERNEL)
    add("--full", action="store_true", help="the full image, with every tool")
    add_arch(parser)


def add_arch(parser: argparse.ArgumentParser) -> None:
    names, dest = tuple(architectures.ARCHITECTURES), architectures.CHOICE
    what = f"{' or '.join(names)}; another than the host's is emulated (the host's)"
    add = parser.add_argument
    add("--arch", metavar="NAME", choices=names, dest=dest, action=Exported, help=what)


def add_accel(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(qemu.ACCEL)
    what = f"{names}; icount helps on a busy host (kvm where it works, else tcg)"
    parser.add_argument("--accel", metavar="NAME", choices=qemu.ACCEL, help=what)


def add_packages(parser: argparse.ArgumentParser) -> None:
    what = "Debian packages that the machine has besides the image's"
    add = parser.add_argument
    add("--packages", metavar="A,B", type=layer.words, default=(), help=what)
    fetched = f"list of Maven artefacts that the machine has at {JARS}"
    add("--jars", metavar="FILE", type=jars.option, help=fetched)


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add what run_machine() reads, except the image and the kernel."""
    add_accel(parser)
    add = parser.add_argument
    add("--share", metavar="HOST:GUEST[:ro]", type=share, action="append", default=[])
    add_packages(parser)
    disk, memory = "of each scratch disk (2G)", "of the guest (2G)"
    add("--disk", metavar="SIZE", type=size, default=2 << 30, help=disk)
    disks = "keep the scratch disks there, for another machine to find"
    add("--disks", metavar="DIR", type=folder, help=disks)
    logged = "log each scratch disk's writes and flushes beside it, for --disks"
    add("--log-writes", action="store_true", help=logged)
    add("--memory", metavar="SIZE", type=size, default=2 << 30, help=memory)
    add("--cpus", metavar="N", type=int, default=2)
    add("--timeout", metavar="S", type=float, default=600.0, help="seconds (600)")
    start = "where the command starts"
    add("--cwd", metavar="DIR", default=run.GUEST_PROJECT, help=start)
    add("--console", metavar="FILE", type=Path, help="keep the console there")
    kmsg = "keep the kernel log there, as /dev/kmsg has it"
    add("--log", metavar="FILE", type=Path, help=kmsg)
    verdict = "write the machine's verdict as JSON"
    add("--result", metavar="FILE", type=Path, help=verdict)
    add("--excuse", metavar="REGEX", help="accept hung tasks that sleep in such frames")
    expect = "accept such lines of the kernel, of level warning or worse (repeatable)"
    add("--expect", metavar="REGEX", action="append", default=[], help=expect)


def run_machine(options: argparse.Namespace, command: list[str]) -> int:
    """Run the command, or a shell where there is none; return the exit status."""
    job = run.Job(
        argv=tuple(command),
        kernel=options.kernel,
        accel=options.accel,
        full_image=options.full,
        packages=options.packages,
        jars=options.jars,
        shares=tuple(options.share),
        disk_bytes=options.disk,
        disks=options.disks,
        log_writes=options.log_writes,
        memory_bytes=options.memory,
        cpus=options.cpus,
        timeout_s=options.timeout if command else None,
        cwd=options.cwd,
        console=options.console,
        log=options.log,
        excused_frames=options.excuse,
        expected=tuple(options.expect),
        interactive=not command,
    )
    result = run.run(job)
    if options.result:
        run.save(result, options.result)
    return result.exit_status


def _run(words: list[str], command: list[str]) -> int:
    parser = _parser(
        "run",
        "Run one command in a throwaway machine and return its status.",
        usage="vm/vm run [OPTION]... -- COMMAND...\n"
        "       vm/vm run [OPTION]... --shell",
        epilog="Statuses of the machine itself: 121 the command had the power cut (by"
        f" writing to its virtio port `{qemu.CUT}`), 122 the kernel complained,"
        " 123 the machine was lost, 124 the time limit passed, 125 no machine was"
        " started. Example: vm/vm run -k 7.2 -- uname -r",
    )
    add_machine(parser)
    shell = "an interactive shell, no command"
    parser.add_argument("--shell", action="store_true", help=shell)
    options = parser.parse_args(words)
    if bool(command) == options.shell:
        parser.error("give a command after --, or --shell")
    return run_machine(options, command)


def _kernel_list(known: recipe.Recipe, _: argparse.Namespace) -> str:
    rows = image.kernels(known).values()
    return "\n".join(f"{row.name} {row.release}" for row in rows)


def _accel_line(known: recipe.Recipe, options: argparse.Namespace) -> str:
    choice = accel.choose(known, image.kernel(known), options.accel)
    return f"{choice.name}: {choice.reason}"


def _layer(known: recipe.Recipe, options: argparse.Namespace) -> object:
    return layer.disk(known, options.packages) or "no packages, so no layer"


# The parts that `vm/vm build` builds, unless they exist, and what it prints of each.
TARGETS: dict[str, Callable[[recipe.Recipe, argparse.Namespace], object]] = {
    "qemu": lambda known, _: f"{image.tools(known)} (QEMU {qemu.version(known)})",
    "tree": lambda known, _: image.tree(known),
    "disk": lambda known, _: image.disk(known),
    "kernels": _kernel_list,
    "release": lambda known, _: image.kernel(known).release,
    "accel": _accel_line,
    "layer": _layer,
    "jars": lambda _, options: jars.folder(options.jars) or "no list, so no jars",
}


def _build(words: list[str], command: list[str]) -> int:
    parser = _parser(
        "build",
        "Build parts of the machine, unless they exist; print where they are.",
        epilog="Example: vm/vm build -k 6.12 qemu tree disk",
    )
    add_accel(parser)
    add_packages(parser)
    parser.add_argument(
        "target", choices=TARGETS, nargs="+", metavar="PART", help=", ".join(TARGETS)
    )
    options = parser.parse_args([*words, *command])
    known = recipe.load(options.kernel, full=options.full)
    for target in options.target:
        print(TARGETS[target](known, options), flush=True)
    return 0


# The root's compiler gets the name that a kernel's headers call, as in guest.sh.
NAMING = ("sh", "-c", 'ln --symbolic gcc "/usr/bin/$0" && exec "$@"')


def _enter(words: list[str], command: list[str]) -> int:
    parser = _parser(
        "enter",
        "Run a command in the image's root; discard what it writes there.",
        usage="vm/vm enter [OPTION]... [HOST:DIR[:ro]]... -- COMMAND...",
        epilog="Example: vm/vm enter /tmp/work:/mnt/work -- ls /mnt/work",
    )
    parser.add_argument("bind", metavar="HOST:DIR[:ro]", nargs="*")
    options = parser.parse_args(words)
    if not command:
        parser.error("give a command after --")
    known = recipe.load(options.kernel, full=options.full)
    image.check_foreign(known.arch)
    home, kernel = image.tree(known), image.kernel(known)
    named = [*NAMING, kernel.compiler] if kernel.compiler else []
    binds, command = [*kernel.binds, *options.bind], [*named, *command]
    done = subprocess.run(image.entering(home, binds, command), check=False)
    return done.returncode


COMMANDS = {"build": _build, "enter": _enter, "run": _run}
USAGE = """usage: vm/vm build|enter|run ...

  build  build parts of the machine: QEMU, the image, the kernels
  enter  run a command in the image's root, without a machine
  run    run a command or a shell in a throwaway machine

See vm/vm COMMAND --help. Example: vm/vm run -k 7.2 -- uname -r"""


def _call(words: list[str]) -> int:
    """Call the command that the first word names; the guest's follows `--`."""
    at = words.index("--") if "--" in words else len(words)
    if words[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if not words or words[0] not in COMMANDS:
        given = f"unknown command {words[0]!r}" if words else "no command"
        raise UserError(f"{given}; use {', '.join(COMMANDS)} (see vm/vm --help)")
    return COMMANDS[words[0]](words[1:at], words[at + 1 :])


def main(words: list[str]) -> int:
    """Call one command; report a mistake in one line, with EXIT_SETUP."""
    end_in_order()
    try:
        return _call(words)
    except (UserError, OSError) as error:
        print(f"vm/vm: {error}", file=sys.stderr)
        return statuses.EXIT_SETUP
    except KeyboardInterrupt:
        print("vm/vm: interrupted", file=sys.stderr)
        return INTERRUPTED
