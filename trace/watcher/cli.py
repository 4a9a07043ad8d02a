# SPDX-License-Identifier: GPL-2.0-only
"""cli: the command `writestall watch`.

Exit status: 0 ended in order, 1 the tracer failed, or a replay could not print what it
reported, 2 refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from launcher.errors import check_architecture
from recorder import engines, targets
from recorder.options import fill
from watcher import options, presence
from writestall_base import TREE
from writestall_base.command_line import exit_status
from writestall_base.errors import UserError

# What explaining needs, and what metrics need, by Debian's names.
SUFFIX = ".prom"  # node_exporter, collector/textfile.go
LIBRARIES, METRICS = ("msgspec", "jinja2"), ("prometheus_client",)

arguments = options.arguments


def main(args: argparse.Namespace) -> int:
    """Watch until a signal; or say in one line why not."""
    return exit_status("watch", lambda: _watch(args))


def _watch(args: argparse.Namespace) -> int:
    options.check_together(args)
    fill(args, options.DEFAULTS)
    if args.dump:
        pid = presence.ask_for_a_dump(args.run_dir)
        print(f"process {pid} writes a run directory and says where")
        return 0
    _enter_python(args)
    if args.replay is None:
        check_architecture()
        targets.check(args)
    check(args)
    # What follows imports the libraries.
    from watcher import starting

    if args.replay is not None:
        return starting.replay(args)
    engine, which = engines.choose(args)
    return starting.live(args, engine, which)


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot be reported where it is wanted."""
    if args.listen and args.textfile:
        raise UserError("--listen and --textfile: give one of them")
    if (args.listen or args.textfile) and not _have(METRICS):
        raise UserError(
            "--listen and --textfile need prometheus_client: install"
            " python3-prometheus-client, or run ./writestall setup"
        )
    if args.textfile and args.textfile.suffix != SUFFIX:
        raise UserError(
            f"--textfile {args.textfile}: node_exporter reads no file but NAME{SUFFIX}"
        )
    if args.unpack_mib and args.replay is None:
        raise UserError("--unpack-mib: nothing is unpacked without --replay")
    if args.replay is not None and not args.replay.exists():
        raise UserError(f"--replay {args.replay}: no such run or file")


def _enter_python(args: argparse.Namespace) -> None:
    """Go on in a Python that has the libraries, if this one has not."""
    if _have(LIBRARIES):
        return
    python = args.python()
    if python is None or Path(python) == Path(sys.executable):
        raise UserError(
            "python3-msgspec and python3-jinja2 are missing: install them, or run"
            " ./writestall setup"
        )
    os.execv(python, [python, str(TREE / "writestall"), *sys.argv[1:]])


def _have(names: tuple[str, ...]) -> bool:
    return all(importlib.util.find_spec(name) for name in names)
