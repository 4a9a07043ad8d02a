# SPDX-License-Identifier: GPL-2.0-only
"""of_command: make a scenario of a command, a disk and a file system."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from labrun.comparison import matrix
from labrun.scenario import reading
from writestall_base import toml_text
from writestall_base.command_line import whole

NAME = "command"
DISK = "slow-disk"
OLDEST_KERNEL = "4.19"  # the oldest on which the injector holds a bio (kmod/)
DEFAULT_S = 20
PORT = whole(1, 65_535)

# Option, the key of the workload, and how its value is read, metavar and help.
OF_WORKLOAD: dict[str, tuple[str, Callable[[str], Any], str, str]] = {
    "--prepare": ("prepare", str, "CMD", "shell command to run before CMD"),
    "--ready-line": ("ready_line", str, "TEXT", "CMD is ready once it prints this"),
    "--ready-port": ("ready_port", PORT, "N", "CMD is ready once this port accepts"),
    "--stop": ("stop", str, "CMD", "shell command that ends CMD (SIGTERM)"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("a command instead of a SCENARIO").add_argument
    what = "shell command; writes in its working folder meet the slow disk"
    add("--command", metavar="CMD", help=what)
    for option, (_, kind, metavar, text) in OF_WORKLOAD.items():
        add(option, type=kind, metavar=metavar, help=text)
    fs = "file system or option of repro/matrix.toml (ext4)"
    add("--fs", metavar="NAME", help=fs)
    add("--profile", metavar="DISK", help=f"disk of repro/profiles ({DISK})")
    add("--packages", metavar="A,B", help="Debian packages that it needs")
    add("--print", action="store_true", help="print its scenario, and exit")


def _value(options: argparse.Namespace, name: str) -> Any:
    return getattr(options, name.strip("-").replace("-", "_"))


def stray(options: argparse.Namespace) -> str | None:
    """Return an option that only a command takes, where there is none."""
    names = (*OF_WORKLOAD, "--fs", "--profile", "--packages", "--print")
    return next((name for name in names if _value(options, name)), None)


def table(options: argparse.Namespace) -> dict[str, Any]:
    """Return the scenario's TOML table. Raises UserError."""
    known, tables = matrix.options()
    option = matrix.choose(known, [options.fs or "ext4"])[0]
    of_option = tables[known.index(option)]
    _, disk = matrix.profile(options.profile or DISK)
    given = {key: _value(options, name) for name, (key, *_) in OF_WORKLOAD.items()}
    workload = {"kind": "command", "name": "application", "command": options.command}
    workload |= {key: value for key, value in given.items() if value is not None}
    packages = [word for word in (options.packages or "").split(",") if word]
    return {
        "name": NAME,
        "purpose": f"The command on {option.what}; disk {disk['name']}.",
        "duration_s": options.duration_s or DEFAULT_S,
        "kernel": {"min": OLDEST_KERNEL},
        "machine": {"packages": packages},
        "filesystem": of_option["filesystem"],
        "inject": disk["inject"],
        "workload": [workload],
    }


def text(options: argparse.Namespace) -> str:
    """Return it as a file's text, checked. Raises UserError."""
    made = toml_text.file(table(options))
    reading.parse(made, "--command", NAME)
    return made
