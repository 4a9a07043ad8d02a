# SPDX-License-Identifier: GPL-2.0-only
"""cli: the command `writestall watch`.

Exit status: 0 ended by a signal, 1 the tracer failed, 2 refused.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from labrun import TREE
from labrun.errors import EXIT_FAILED, EXIT_REFUSED, RefusedError
from labrun.progress import say
from launcher.errors import TraceError, check_architecture
from recorder import engines, targets
from recorder.options import add_selection, time_up_to
from watcher import presence
from writestall.cli.parser import positive
from writestall.common.errors import WritestallError

MOST_KEEP_NS = 3600 * 10**9
DUMPS = Path("/var/lib/writestall")
# What explaining needs, and what metrics need, by Debian's names.
SUFFIX = ".prom"  # node_exporter, collector/textfile.go
LIBRARIES, METRICS = ("msgspec", "jinja2"), ("prometheus_client",)


def address(text: str) -> tuple[str, int]:
    """An argument type: HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r}: want HOST:PORT, like 127.0.0.1:9709"
        )
    return host.strip("[]"), int(port)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is watched, and where it is told."""
    add_selection(parser)
    add = parser.add_argument
    where = "give metrics to Prometheus there, like 127.0.0.1:9709"
    add("--listen", type=address, metavar="HOST:PORT", help=where)
    file = "write metrics to that file of node_exporter, NAME.prom"
    add("--textfile", type=Path, metavar="FILE", help=file)
    add("--json", action="store_true", help="print lines as JSON, with all fields")
    add("--tree", action="store_true", help="print the whole chain of each stall, too")
    _add_trap(parser)
    add = parser.add_argument
    kept = "how long events stay for chains and dumps (60s)"
    limit = time_up_to(MOST_KEEP_NS)
    add("--keep", dest="keep_ns", type=limit, default="60s", metavar="T", help=kept)
    most = "how many events stay at most (100000)"
    add("--most-events", type=positive, default=100_000, metavar="N", help=most)
    run = "folder of the running watch's word (/run/writestall)"
    add("--run-dir", type=Path, default=presence.RUN, metavar="DIR", help=run)
    again = "take the events of a run or a file, as if they came now"
    add("--replay", type=Path, metavar="RUN", help=again)


def _add_trap(parser: argparse.ArgumentParser) -> None:
    """Add when the last events are written as a run directory."""
    add = parser.add_argument
    folder = "folder of the run directories that triggers write (/var/lib/writestall)"
    add("--dump-dir", type=Path, default=DUMPS, metavar="DIR", help=folder)
    long = "trigger: a call that lasts that long (10s)"
    limit = time_up_to(MOST_KEEP_NS)
    add("--dump-stall", type=limit, default="10s", metavar="T", help=long)
    psi = "trigger: so many percent of 10 s all tasks wait for I/O (50)"
    add("--dump-pressure", type=positive, default=50, metavar="PERCENT", help=psi)
    add("--dumps-a-day", type=positive, default=5, metavar="N", help="at most (5)")
    most = "what they may take of the disk, together (256)"
    add("--dump-mib", type=positive, default=256, metavar="MIB", help=most)
    now = "tell the running watch to write one now, and end"
    add("--dump", action="store_true", help=now)


def main(args: argparse.Namespace) -> int:
    """Watch until a signal; or say in one line why not."""
    try:
        if args.dump:
            pid = presence.ask_for_a_dump(args.run_dir)
            print(f"process {pid} writes a run directory and says where")
            return 0
        return _watch(args)
    except RefusedError as refused:
        for line in refused.lines:
            say(f"watch: {line}")
        return EXIT_REFUSED
    except WritestallError as error:
        say(f"watch: {error}")
        return EXIT_FAILED


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
