# SPDX-License-Identifier: GPL-2.0-only
"""cli: the command `writestall record`.

Exit status: 0 recorded, 1 the recording failed, 2 refused; with a COMMAND its own.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from labrun import TREE
from labrun.errors import EXIT_COMPLETE, EXIT_FAILED, EXIT_REFUSED, RefusedError
from labrun.progress import Progress, say
from labrun.steps import Run
from labrun.stop import Stop
from launcher.errors import TraceError, check_architecture
from recorder import answering, engines, targets
from recorder.guard import Guard
from recorder.hiding import hidden, uncover
from recorder.recording import Settings, carry_out
from recorder.say import Voice
from writestall.cli.parser import positive
from writestall.common.errors import WritestallError

NS = {"us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
MOST_STALL_NS, MOST_FOR_NS = 3600 * 10**9, 24 * 3600 * 10**9


def time_up_to(most_ns: int) -> Callable[[str], int]:
    """An argument type: `50ms`, `60s`, in ns, from 1 us."""

    def read(text: str) -> int:
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)(us|ms|s|m|h)", text)
        value = int(float(found[1]) * NS[found[2]]) if found else 0
        if not 1000 <= value <= most_ns:
            most_s = most_ns // NS["s"]
            raise argparse.ArgumentTypeError(
                f"{text!r}: want a time with its unit, like 50ms or 2m, up to {most_s}s"
            )
        return value

    return read


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is recorded, for how long, and where to."""
    add = parser.add_argument
    add("-p", "--pid", type=int, metavar="PID", help="calls of it and its children")
    add("--comm", metavar="NAME", help="calls of tasks of that name")
    add("--path", type=Path, metavar="PATH", help="calls on it, or below that folder")
    add("--device", metavar="DEV", help="calls on its file system: /dev/sda1, 8:1")
    where = "new folder (TIME-record, in out/ of a checkout)"
    add("-o", "--output", type=Path, metavar="DIR", help=where)
    stall, floor = "shortest stall (50ms)", "shortest sleep (1ms)"
    limit = time_up_to(MOST_STALL_NS)
    add("--stall", dest="stall_ns", type=limit, default="50ms", metavar="T", help=stall)
    add("--floor", dest="floor_ns", type=limit, default="1ms", metavar="T", help=floor)
    until = "end after that long (Ctrl-C ends it, too)"
    add("--for", dest="for_ns", type=time_up_to(MOST_FOR_NS), metavar="T", help=until)
    names = (engines.AUTO, *(one.name for one in engines.ENGINES))
    what = "tracing engine: auto, core, bpf or stap (auto: the first that works)"
    add("--engine", choices=names, default=engines.AUTO, help=what)
    made = "SystemTap's module stalled_writes.ko, made by trace/build"
    add("--module", type=Path, metavar="KO", help=made)
    redact = "write no path, no name of a task or of the host, but tokens for them"
    add("--redact", action="store_true", help=redact)
    most = "end when the events reach that size (256)"
    add("--most-mib", type=positive, default=256, metavar="MIB", help=most)


def main(args: argparse.Namespace) -> int:
    """Record; print the answer, or what failed in one line."""
    args.most_bytes = args.most_mib << 20
    try:
        return _record(args)
    except RefusedError as refused:
        for line in refused.lines:
            say(f"record: {line}")
        return EXIT_REFUSED


def _record(args: argparse.Namespace) -> int:
    try:
        check_architecture()
    except TraceError as error:
        raise RefusedError(str(error)) from None
    targets.check(args)
    engine, which = engines.choose(args)
    out = targets.new_folder(args.output, _default)
    voice = Voice.beside(args.tail)
    voice.say(which)
    stop = Stop("" if voice.silent else "record: {}: ends the recording")
    stop.install()
    guard = Guard()
    run = Run(hidden(guard) if args.redact else out, Progress("none"), stop)
    recorded, status = carry_out(run, Settings(args, engine, guard, voice))
    if status is None:
        voice = Voice(silent=False)  # a COMMAND has not begun
    good = run.manifest["status"] == "complete"
    stop.uninstall()
    try:
        if args.redact:
            uncover(run.out, out)
        guard.dismiss()
        targets.hand_over(out)
        good = recorded and _answer(out, args, voice) and good
    except (WritestallError, OSError) as error:
        voice.say(str(error))
        good = False
    if run.manifest["status"] != "complete":
        voice.say(f"{run.manifest['status']}: {run.manifest['reason']}: {out}")
    return status if status is not None else EXIT_COMPLETE if good else EXIT_FAILED


def _default() -> Path:
    """A new folder: in out/ of a checkout, else in the current one."""
    parent = TREE / "out" if (TREE / "lab").is_dir() else Path()
    return parent / f"{time.strftime('%Y%m%d-%H%M%S')}-record"


def _answer(out: Path, args: argparse.Namespace, voice: Voice) -> bool:
    """Print the answer; return False where explaining failed."""
    python = args.python()
    told, answered = answering.answer(out, python)
    if not answered:
        (out / answering.NAME).write_text(f"{told}\n")
    if voice.silent:
        return answered or python is None
    if answered:
        print(told, file=sys.stderr if args.tail else sys.stdout, flush=True)
    else:
        voice.say(told)
    voice.say(f"run: {out}" + (", page: report.html in it" if answered else ""))
    return answered or python is None
