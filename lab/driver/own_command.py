# SPDX-License-Identifier: GPL-2.0-only
"""own_command: the options of `writestall lab` for a program of the user's own."""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path

from driver import runs, settings
from driver.machines import Needs
from driver.runs import Request
from machine import cli, layer
from writestall_base import files
from writestall_base.command_line import whole
from writestall_base.errors import UserError

FILE = "command.toml"
SHARED = "/mnt/share"
MIB = 1 << 20
MOST_BYTES = 16 * MIB
# Makes the calls of a recording again (repro/replay).
REPLAY = (
    'exec "$PROGRAMS/replay" ${ARMED_NS:+--start-ns $ARMED_NS}'
    ' --report "$OUT/replay.json"'
    f' {runs.ASIDE}/{runs.CALLS} "$LAB"'
)
# Options of repro/run that make a scenario of a command.
SCENARIO = {
    "command": ("CMD", "shell command to stall, instead of a scenario"),
    "prepare": ("CMD", "shell command to run before CMD"),
    "ready-line": ("TEXT", "CMD is ready once it prints this"),
    "ready-port": ("N", "CMD is ready once this TCP port accepts"),
    "stop": ("CMD", "shell command that ends CMD (SIGTERM)"),
    "fs": ("NAME", "file system or option of repro/matrix.toml (ext4)"),
    "profile": ("DISK", "disk of repro/profiles (slow-disk: 300 ms a write)"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    for name, (metavar, text) in SCENARIO.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    add = parser.add_argument
    packages = "Debian packages for the machine, besides the image's"
    add("--packages", metavar="A,B", type=layer.words, default=(), help=packages)
    add("--memory", metavar="SIZE", type=cli.size, help="of the machine (2G)")
    share = f"show the machine this folder, at {SHARED} or where HOST:GUEST[:ro] says"
    add("--share", metavar="DIR", type=_share, action="append", default=[], help=share)
    run = "delay as the disk of this run did (docs/replay.md), not as the scenario does"
    add("--from", dest="recorded", metavar="RUN", type=Path, help=run)
    device = "which of its disks, by number or name (the one that bios took longest on)"
    add("--from-device", dest="recorded_device", metavar="DEV", help=device)
    add("--duration", metavar="S", type=whole(), help="of the workload, seconds")


def _share(text: str) -> str:
    """A folder of the host as vm/vm run takes it."""
    share = cli.share(text if re.search(":/", text) else f"{text}:{SHARED}:ro")
    mode = ":ro" if share.read_only else ""
    return f"{share.source}:{share.folder}{mode}"


def read(args: argparse.Namespace) -> Request:
    """The request; refuse at once what does not exist or cannot be combined."""
    shared = settings.read(args)
    settings.check_engine(args.engine, shared.kernel)
    _check_recorded(args)
    length_s = None if args.scenario or args.command else _calls_last_s(args.recorded)
    if length_s is not None:
        args.command, args.prepare = REPLAY, f"{REPLAY} --prepare"
        args.duration = args.duration or length_s
    command = _words(args)
    if command and args.scenario:
        raise UserError(f"{args.scenario}: name a scenario or a --command, not both")
    scenario = FILE if command else args.scenario or args.default_scenario
    memory = args.memory // MIB if args.memory else None
    needs = Needs(args.packages, memory, tuple(args.share))
    how = (args.engine, args.injector, args.mode)
    of = (args.recorded, args.recorded_device)
    replays = length_s is not None
    request = Request(
        shared, scenario, *how, needs, args.duration, command, *of, replays
    )
    if not command and Path(scenario).name == FILE:
        raise UserError(f"{scenario}: rename the file")
    return runs.checked(request)


def _check_recorded(args: argparse.Namespace) -> None:
    """Refuse what does not go with a recorded disk, or without one."""
    if args.recorded is None:
        if args.recorded_device is not None:
            raise UserError("--from-device needs --from")
        return
    if args.profile is not None:
        raise UserError("--from is a disk of its own: leave out --profile")
    if not args.recorded.exists():
        raise UserError(f"--from {args.recorded}: no such run")


def _calls_last_s(run: Path | None) -> int | None:
    """For how many seconds a run kept calls; None where it kept none."""
    if run is None:
        return None
    try:
        manifest = json.loads(files.content(run / "manifest.json", MOST_BYTES))
        window = manifest["window"]
        if not manifest["recorded"]["profile"]:
            return None
        return max(1, math.ceil(int(window["end_ns"] - window["start_ns"]) / 10**9))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _words(args: argparse.Namespace) -> tuple[str, ...]:
    """The options of repro/run, empty without a command."""
    given = {name: getattr(args, name.replace("-", "_")) for name in SCENARIO}
    words = [
        word
        for name, value in given.items()
        if value is not None
        for word in (f"--{name}", value)
    ]
    if words and args.command is None:
        raise UserError(f"{words[0]} needs --command; a scenario's file has its own")
    if words and args.duration:
        words += ["--duration-s", str(args.duration)]
    return tuple(words)
