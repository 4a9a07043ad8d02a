# SPDX-License-Identifier: GPL-2.0-only
"""cli: the command `writestall watch`.

Exit status: 0 ended in order, 1 the tracer failed, or a replay could not print what it
told, 2 refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from labrun import TREE
from labrun.errors import EXIT_REFUSED, RefusedError
from labrun.progress import say
from launcher.errors import TraceError, check_architecture
from recorder import engines, targets
from recorder.options import fill
from watcher import options, presence
from writestall.common.errors import WritestallError

# What explaining needs, and what metrics need, by Debian's names.
SUFFIX = ".prom"  # node_exporter, collector/textfile.go
LIBRARIES, METRICS = ("msgspec", "jinja2"), ("prometheus_client",)

arguments = options.arguments


def main(args: argparse.Namespace) -> int:
    """Watch until a signal; or say in one line why not."""
    try:
        options.check_together(args)
        fill(args, options.DEFAULTS)
        if args.dump:
            pid = presence.ask_for_a_dump(args.run_dir)
            print(f"process {pid} writes a run directory and says where")
            return 0
        return _watch(args)
    except (RefusedError, WritestallError) as refused:
        for line in str(refused).splitlines():
            say(f"watch: {line}")
        return EXIT_REFUSED


def _watch(args: argparse.Namespace) -> int:
    _enter_python(args)
    if args.replay is None:
        try:
            check_architecture()
        except TraceError as error:
            raise RefusedError(str(error)) from None
        targets.check(args)
    check(args)
    # What follows imports the libraries.
    from watcher import starting

    if args.replay is not None:
        return starting.replay(args)
    engine, which = engines.choose(args)
    return starting.live(args, engine, which)


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot be told where it is wanted."""
    if args.listen and args.textfile:
        raise RefusedError("--listen and --textfile: give one of them")
    if (args.listen or args.textfile) and not _have(METRICS):
        raise RefusedError(
            "--listen and --textfile need prometheus_client: install"
            " python3-prometheus-client, or run ./writestall setup"
        )
    if args.textfile and args.textfile.suffix != SUFFIX:
        raise RefusedError(
            f"--textfile {args.textfile}: node_exporter reads no file but NAME{SUFFIX}"
        )
    if args.unpack_mib and args.replay is None:
        raise RefusedError("--unpack-mib: nothing is unpacked without --replay")
    if args.replay is not None and not args.replay.exists():
        raise RefusedError(f"--replay {args.replay}: no such run or file")


def _enter_python(args: argparse.Namespace) -> None:
    """Go on in a Python that has the libraries, if this one has not."""
    if _have(LIBRARIES):
        return
    python = args.python()
    if python is None or Path(python) == Path(sys.executable):
        raise RefusedError(
            "python3-msgspec and python3-jinja2 are missing: install them, or run"
            " ./writestall setup"
        )
    os.execv(python, [python, str(TREE / "writestall"), *sys.argv[1:]])


def _have(names: tuple[str, ...]) -> bool:
    return all(importlib.util.find_spec(name) for name in names)
