# SPDX-License-Identifier: GPL-2.0-only
"""own_command: the options of `writestall lab` for a program of the user's own."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from driver import recorded, runs, settings
from driver.machines import Needs
from driver.runs import Request
from machine import cli, layer
from writestall_base.command_line import whole, words
from writestall_base.errors import UserError

FILE = "command.toml"
SHARED = "/mnt/share"
MIB = 1 << 20
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
    for name, (metavar, text) in SCENARIO.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    add = parser.add_argument
    packages = "Debian packages for the machine, besides the image's"
    add("--packages", metavar="A,B", type=layer.words, default=(), help=packages)
    add("--memory", metavar="SIZE", type=cli.size, help="of the machine (2G)")
    share = f"show the machine this folder, at {SHARED} or where HOST:GUEST[:ro] says"
    add("--share", metavar="DIR", type=_share, action="append", default=[], help=share)
    recorded.arguments(parser)
    add("--duration", metavar="S", type=whole(), help="of the workload, seconds")


def _share(text: str) -> str:
    """A folder of the host as vm/vm run takes it."""
    share = cli.share(text if re.search(":/", text) else f"{text}:{SHARED}:ro")
    mode = ":ro" if share.read_only else ""
    return f"{share.source}:{share.folder}{mode}"


def read(args: argparse.Namespace) -> Request:
    """The request; refuse at once what does not exist or cannot be combined."""
    shared = settings.read(args)
    engine = settings.engine(args.engine, shared.kernel)
    recorded.check(args)
    named = args.scenario or args.command
    length_s = None if named else recorded.calls_last_s(args.recorded)
    if length_s is not None:
        args.command, args.prepare = recorded.making_calls(runs.ASIDE)
        args.duration = args.duration or length_s
    command = _words(args)
    if command and args.scenario:
        raise UserError(f"{args.scenario}: name a scenario or a --command, not both")
    scenario = FILE if command else args.scenario or args.default_scenario
    memory = args.memory // MIB if args.memory else None
    needs = Needs(args.packages, memory, tuple(args.share))
    how = (engine, args.injector, args.mode)
    of = (args.recorded, args.recorded_device)
    replays = length_s is not None
    request = Request(
        shared, scenario, *how, needs, args.duration, command, *of, replays
    )
    if not command and Path(scenario).name == FILE:
        raise UserError(f"{scenario}: rename the file")
    return runs.checked(request)


def _words(args: argparse.Namespace) -> tuple[str, ...]:
    """The options of repro/run, empty without a command."""
    given = {name: getattr(args, name.replace("-", "_")) for name in SCENARIO}
    found = words(given)
    if found and args.command is None:
        raise UserError(f"{found[0]} needs --command; a scenario's file has its own")
    if found and args.duration:
        found += words({"duration_s": args.duration})
    return tuple(found)
