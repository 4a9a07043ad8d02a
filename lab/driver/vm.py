# SPDX-License-Identifier: GPL-2.0-only
"""vm: open a shell in a throwaway machine, or run a command there."""

from __future__ import annotations

import argparse
import os

from driver.project import tool
from machine import qemu


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; vm/vm run has more."""
    add = parser.add_argument
    add("--kernel", metavar="NAME", help="a kernel of vm/kernels.toml, like 7.2")
    add("--accel", choices=qemu.ACCEL, metavar="NAME", help=", ".join(qemu.ACCEL))
    add("--full", action="store_true", help="the image with every tool and kernel")


def main(args: argparse.Namespace) -> int:
    """Become vm/vm run."""
    command = tool("vm/vm", "run", *(["--full"] if args.full else []))
    command += ["--kernel", args.kernel] if args.kernel else []
    command += ["--accel", args.accel] if args.accel else []
    command += ["--", *args.tail] if args.tail else ["--shell"]
    os.execv(command[0], command)
