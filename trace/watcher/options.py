# SPDX-License-Identifier: GPL-2.0-only
"""options: the options of `writestall watch`, and which belong together."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from recorder.options import SELECTION, add_selection, time_up_to
from watcher import presence
from writestall.cli.options import add as add_shared
from writestall_base.command_line import whole
from writestall_base.errors import UserError

MOST_KEEP_NS = 3600 * 10**9
# What is taken where an option is not given.
DEFAULTS = SELECTION | {
    "keep_ns": 60 * 10**9,
    "most_events": 100_000,
    "run_dir": presence.RUN,
    "dump_dir": Path("/var/lib/writestall"),
    "dump_stall": 10 * 10**9,
    "dump_pressure": 50,
    "dumps_a_day": 5,
    "dump_mib": 256,
}
# The names of options' values: of how a host is traced, which a replay has behind it,
# and of those that it takes.
LIVE = (
    *("pid", "comm", "path", "device", "stall_ns", "floor_ns", "engine", "module"),
    *("dump_dir", "dump_stall", "dump_pressure", "dumps_a_day", "dump_mib"),
)
TOLD = (
    *("listen", "textfile", "json", "tree", "keep_ns", "most_events"),
    *("replay", "unpack_mib"),
)
# The options that leave others nothing to do.
ALONE = (
    ("dump", (*LIVE, *TOLD), "--dump asks a watch that runs already: leave out"),
    ("replay", (*LIVE, "run_dir"), "--replay traces nothing: leave out"),
)


def address(text: str) -> tuple[str, int]:
    """An argument type: HOST:PORT, [HOST]:PORT for IPv6."""
    found = re.fullmatch(r"(?:([^][:]+)|\[([^][]+)\]):([0-9]{1,5})", text)
    if not found or int(found[3]) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r}: want HOST:PORT, like 127.0.0.1:9709 or [::1]:9709"
        )
    return found[1] or found[2], int(found[3])


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is watched, and where it is reported."""
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
    add("--keep", dest="keep_ns", type=limit, metavar="T", help=kept)
    most = "how many events stay at most (100000)"
    add("--most-events", type=whole(), metavar="N", help=most)
    run = "folder of the running watch's pid file (/run/writestall)"
    add("--run-dir", type=Path, metavar="DIR", help=run)
    again = "take the events of a run or a file, as if they came now"
    add("--replay", type=Path, metavar="RUN", help=again)
    add_shared(parser, "--unpack-mib")


def _add_trap(parser: argparse.ArgumentParser) -> None:
    """Add when the last events are written as a run directory."""
    add = parser.add_argument
    folder = "folder of the run directories that triggers write (/var/lib/writestall)"
    add("--dump-dir", type=Path, metavar="DIR", help=folder)
    long = "trigger: a call that lasts that long (10s)"
    limit = time_up_to(MOST_KEEP_NS)
    add("--dump-stall", type=limit, metavar="T", help=long)
    psi = "trigger: percentage of 10 s in which all tasks wait for I/O (50)"
    add("--dump-pressure", type=whole(), metavar="PERCENT", help=psi)
    a_day = "most dumps a day (5), besides those by --dump"
    add("--dumps-a-day", type=whole(), metavar="N", help=a_day)
    most = "largest size of all dumps together (256)"
    add("--dump-mib", type=whole(), metavar="MIB", help=most)
    now = "make the running watch write a dump now, and end"
    add("--dump", action="store_true", help=now)


def check_together(args: argparse.Namespace) -> None:
    """Refuse options that would be given in vain; none has its default yet."""
    for name, others, why in ALONE:
        given = [_option(other) for other in others if _is_given(args, other)]
        if given and _is_given(args, name):
            raise UserError(f"{why} {', '.join(given)}")


def _option(name: str) -> str:
    """stall_ns is --stall."""
    return f"--{name.removesuffix('_ns').replace('_', '-')}"


def _is_given(args: argparse.Namespace, name: str) -> bool:
    value = getattr(args, name)
    return value is not None and value is not False
