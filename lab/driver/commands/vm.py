# SPDX-License-Identifier: GPL-2.0-only
"""vm: open a shell in a throwaway machine, or run a command there, as vm/vm run."""

from __future__ import annotations

import argparse

from machine import cli


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of vm/vm run."""
    cli.add_image(parser)
    cli.add_machine(parser)


def main(args: argparse.Namespace) -> int:
    """Run the machine; return the command's status, or the machine's own."""
    return cli.run_machine(args, args.tail)
