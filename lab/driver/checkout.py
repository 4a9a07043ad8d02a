# SPDX-License-Identifier: GPL-2.0-only
"""checkout: call a command of the checkout, or enter the venv of the analysis."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from driver.commands import setup
from driver.project import PROJECT
from machine.commands import end_in_order
from writestall_base.errors import INTERRUPTED, UserError


def call(name: str, module: str, args: argparse.Namespace) -> int:
    """Call a command; SIGTERM and SIGHUP end it as Ctrl-C does.

    args.python() is a Python that has the analysis' libraries, None where there is
    none.
    """
    end_in_order()
    args.python = setup.ready
    try:
        status: int = importlib.import_module(module).main(args)
    except UserError as error:
        for line in error.lines:
            print(f"writestall {name}: {line}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print(f"\nwritestall {name}: interrupted; nothing runs on", file=sys.stderr)
        return INTERRUPTED
    return status


def enter_venv(name: str, extras: tuple[str, ...], words: list[str]) -> None:
    """Run the command again in the Python that has its libraries."""
    try:
        python = setup.python(extras)
    except UserError as error:
        print(f"writestall {name}: {error}", file=sys.stderr)
        sys.exit(error.status)
    if Path(sys.executable) != python:
        os.execv(python, [str(python), str(PROJECT / "writestall"), *words])
