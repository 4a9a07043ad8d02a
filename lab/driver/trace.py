# SPDX-License-Identifier: GPL-2.0-only
"""trace: run a tracing script on this host with one of the engines."""

from __future__ import annotations

import argparse
import os

from driver.project import tool

LAUNCHERS = {"stap": "stap/trace", "bpftrace": "bpf/trace"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the engine, and the script with its own options."""
    parser.add_argument(
        "--engine",
        choices=LAUNCHERS,
        default="stap",
        metavar="NAME",
        help="stap or bpftrace (stap)",
    )
    parser.add_argument("script", metavar="SCRIPT", help="like stalled_writes")
    parser.add_argument(
        "options",
        nargs=argparse.REMAINDER,
        metavar="...",
        help="the script's options: writestall trace SCRIPT --help",
    )


def main(args: argparse.Namespace) -> int:
    """Become the engine's launcher, so that it gets our signals."""
    command = tool(LAUNCHERS[args.engine], args.script, *args.options)
    os.execv(command[0], command)
