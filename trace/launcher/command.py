# SPDX-License-Identifier: GPL-2.0-only
"""command: `writestall trace`, which runs a script on this host with an engine."""

from __future__ import annotations

import argparse
import os
import sys

from writestall_base import TREE

ENGINES = ("stap", "core")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the engine, and the script with its own options."""
    engine = "stap or core (stap)"
    parser.add_argument("--engine", choices=ENGINES, default="stap", help=engine)
    parser.add_argument("script", metavar="SCRIPT", help="like stalled_writes")
    more = "the script's options: writestall trace SCRIPT --help lists them"
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="...", help=more)


def main(args: argparse.Namespace) -> int:
    """Become the launcher, so that it gets our signals."""
    command = [sys.executable, str(TREE / "trace/trace"), "--engine", args.engine]
    os.execv(command[0], [*command, args.script, *args.options])
