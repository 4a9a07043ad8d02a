# SPDX-License-Identifier: GPL-2.0-only
"""options: what of a host is traced, and by which engine, for record and watch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from recorder import engines
from writestall_base.command_line import some_path, whole
from writestall_base.units import LONG_UNITS_NS, MS_NS, S_NS, duration_ns

MOST_STALL_NS = 3600 * S_NS
# What is taken where add_selection()'s options are not given.
SELECTION = {"stall_ns": 50 * MS_NS, "engine": engines.AUTO}


def fill(args: argparse.Namespace, defaults: Mapping[str, Any]) -> None:
    """Take the defaults of what was not given, once it is known what was.

    That of the shortest sleep is no longer than the shortest stall.
    """
    for name, value in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.floor_ns is None:
        args.floor_ns = min(MS_NS, args.stall_ns)


def time_up_to(most_ns: int) -> Callable[[str], int]:
    """An argument type: `50ms`, `60s`, in ns, from 1 us."""
    unit, ns = next(
        one for one in reversed(LONG_UNITS_NS.items()) if most_ns % one[1] == 0
    )
    most = f"{most_ns // ns}{unit}"

    def read(text: str) -> int:
        value = int(duration_ns(text))
        if not 1000 <= value <= most_ns:
            raise argparse.ArgumentTypeError(
                f"{text!r}: want a time with its unit, like 50ms or 2m, up to {most}"
                f" (units: {', '.join(LONG_UNITS_NS)})"
            )
        return value

    return read


def _pid(text: str) -> int:
    """An argument type: a process, often the output of another command."""
    if not text:
        raise argparse.ArgumentTypeError(
            "want a process, and this is empty: did pgrep find none?"
        )
    return whole()(text)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add whose calls are listed, from which duration on, and the engine."""
    add = parser.add_argument
    parser.set_defaults(profile=False)  # record alone has that option
    pid = "only calls of this process and its children"
    add("-p", "--pid", type=_pid, metavar="PID", help=pid)
    add("--comm", metavar="NAME", help="only calls of tasks of this name")
    where = "only calls on this file, or below this folder"
    add("--path", type=some_path, metavar="PATH", help=where)
    device = "only calls on this disk's file system: /dev/sda1, 8:1"
    add("--device", metavar="DEV", help=device)
    stall, floor = "shortest stall (50ms)", "shortest sleep (1ms)"
    limit = time_up_to(MOST_STALL_NS)
    add("--stall", dest="stall_ns", type=limit, metavar="T", help=stall)
    add("--floor", dest="floor_ns", type=limit, metavar="T", help=floor)
    names = (engines.AUTO, *(one.name for one in engines.ENGINES))
    what = "tracing engine: auto, core or stap (auto: the first that works)"
    add("--engine", choices=names, help=what)
    made = "SystemTap's module stalled_writes.ko, made by trace/build"
    add("--module", type=Path, metavar="KO", help=made)
