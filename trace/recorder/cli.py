# SPDX-License-Identifier: GPL-2.0-only
"""cli: the command `writestall record`.

Exit status: 0 recorded, 1 the recording failed, 2 refused; with a COMMAND its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from labrun.setup.staging import MEMORY
from launcher.errors import check_architecture
from recorder import engines, targets
from recorder.guard import Guard
from recorder.options import SELECTION, add_selection, fill, time_up_to
from recorder.process import Process, held
from recorder.recording import Settings, carry_out
from recorder.run_folder import RunFolder, new_folder
from recorder.say import Voice
from writestall.export.redacted.run import redact
from writestall_base import TREE, files
from writestall_base.command_line import exit_status, whole
from writestall_base.errors import EXIT_COMPLETE, EXIT_FAILED, UserError
from writestall_base.progress import Progress
from writestall_base.steps import Run
from writestall_base.stop import Stop
from writestall_base.units import many

MOST_FOR_NS = 24 * 3600 * 10**9
NAME = "answer.txt"
SOURCES = [str(TREE / "base"), str(TREE / "analysis")]
TOP = "3"  # chains that are printed
ELSEWHERE = (
    "no answer here: python3-msgspec and python3-jinja2 are missing; install them, or"
    " copy {run} to another machine: writestall report {run}"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is recorded, for how long, and where to."""
    add_selection(parser)
    add = parser.add_argument
    where = "new folder (TIME-record, in out/ of a checkout)"
    add("-o", "--output", type=Path, metavar="DIR", help=where)
    until = "end after that long (Ctrl-C ends it, too)"
    add("--for", dest="for_ns", type=time_up_to(MOST_FOR_NS), metavar="T", help=until)
    tokens = "write tokens for paths and for names of tasks and of the host"
    add("--redact", action="store_true", help=tokens)
    profile = "keep all bios by latency, and all calls, too, for `lab --from`"
    add("--profile", action="store_true", help=profile)
    most = "end when the events reach that size (256)"
    add("--most-mib", type=whole(), default=256, metavar="MIB", help=most)


def main(args: argparse.Namespace) -> int:
    """Record; print the answer, or what failed in one line."""
    fill(args, SELECTION)
    args.most_bytes = args.most_mib << 20
    return exit_status("record", lambda: _record(args))


def _record(args: argparse.Namespace) -> int:
    check_architecture()
    targets.check(args)
    with held(args.pid) as process:
        return _recorded(args, process)


def _recorded(args: argparse.Namespace, process: Process | None) -> int:
    engine, which = engines.choose(args)
    out = new_folder(args.output, _default)
    voice = Voice.beside(args.tail)
    voice.say(which)
    stop = Stop("" if voice.silent else "record: {}: ends the recording")
    stop.install()
    guard = Guard()
    folder = hidden(guard) if args.redact else out.pinned
    run = Run(folder, Progress("none"), stop)
    settings = Settings(args, engine, guard, voice, process)
    recorded, status = carry_out(run, settings)
    if status is None:
        voice = Voice(silent=False)  # a COMMAND has not begun
    good = run.manifest["status"] == "complete"
    stop.uninstall()
    try:
        if args.redact:
            uncover(run.out, out.pinned)
        guard.dismiss()
        good = recorded and _answer(out, args, voice) and good
        if recorded and args.profile:
            voice.say(kept_calls(out.pinned))
    except (UserError, OSError) as error:
        voice.say(out.named(str(error)))
        good = False
    out.hand_over()
    if run.manifest["status"] != "complete":
        reason = out.named(run.manifest["reason"])
        voice.say(f"{run.manifest['status']}: {reason}: {out.path}")
    return status if status is not None else EXIT_COMPLETE if good else EXIT_FAILED


def _default() -> Path:
    """A new folder: in out/ of a checkout, else in the current one."""
    parent = TREE / "out" if (TREE / "lab").is_dir() else Path()
    return parent / f"{time.strftime('%Y%m%d-%H%M%S')}-record"


def _answer(out: RunFolder, args: argparse.Namespace, voice: Voice) -> bool:
    """Print the answer; return False where explaining failed."""
    python = args.python()
    explained, answered = answer(out, python)
    if not answered:
        files.save_inside(out.pinned, NAME, f"{explained}\n".encode())
    if voice.silent:
        return answered or python is None
    if answered:
        print(explained, file=sys.stderr if args.tail else sys.stdout, flush=True)
    else:
        voice.say(explained)
    voice.say(f"run: {out.path}" + (", page: report.html in it" if answered else ""))
    return answered or python is None


EVENTS = "events/core.jsonl"
COUNTS = re.compile(
    rb'\{"ev":"calls","t_ns":\d+,"count":(\d+),"lost":(\d+),"left_out":(\d+),'
    rb'"wakes":(\d+),'
)


def kept_calls(folder: Path) -> str:
    """What was kept and what not, in a run's events."""
    kept = lost = left = 0
    with (folder / EVENTS).open("rb") as file:
        for line in file:
            if found := COUNTS.match(line):
                count, missed, other, wakes = map(int, found.groups())
                kept, lost, left = kept + count - wakes, lost + missed, left + other
    return (
        f"profile: {many(kept, 'call')} kept, {lost} lost, {left} of kinds that a"
        " replay does not make"
    )


def hidden(guard: Guard) -> Path:
    """A folder in memory, for a run whose names are to be replaced; deleted if this
    process is killed."""
    memory = Path(tempfile.mkdtemp(prefix="writestall-run-", dir=MEMORY))
    guard.folder(memory)
    folder = memory / "named"
    folder.mkdir()
    return folder


def uncover(folder: Path, out: Path) -> None:
    """Write the run without names to the empty folder `out`, and delete this one."""
    nameless = folder.with_name("nameless")
    try:
        redact(folder, nameless)
        shutil.copytree(nameless, out, dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder.parent)


def _modules(python: str) -> list[str]:
    """Folders of modules: all that this process has, if it is the Python that has the
    libraries (a package keeps some of them in a folder of its own)."""
    return sys.path if python == sys.executable else SOURCES


def answer(run: RunFolder, python: str | None) -> tuple[str, bool]:
    """Return the answer, or why there is none, and whether there is one.

    It is saved in the run, and the page with it. The run is the program's folder, which
    nobody can replace, and no place of its modules (-P).
    """
    if python is None:
        return ELSEWHERE.format(run=run.path), False
    command = [python, "-P", "-m", "writestall", "explain", ".", "--report"]
    done = subprocess.run(
        [*command, "--top", TOP],
        cwd=run.pinned,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(_modules(python))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["explain failed"]
        return lines[-1], False
    files.save_inside(run.pinned, NAME, done.stdout.encode())
    return done.stdout.rstrip("\n"), True
