# SPDX-License-Identifier: GPL-2.0-only
"""preflight: list everything that keeps this machine from running a scenario."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from labrun.injectors.interface import Injector
from labrun.run import tracer
from labrun.scenario.keys import Scenario
from labrun.setup import cgroups, memory, tuning
from writestall_base import JARS

TOOLS_OF = {
    "e2fsprogs": "mkfs.ext4",
    "xfsprogs": "mkfs.xfs",
    "btrfs-progs": "mkfs.btrfs",
    "f2fs-tools": "mkfs.f2fs",
    "mount": "mount umount losetup swapon swapoff",
    "kmod": "modprobe insmod rmmod",
    "util-linux": "wipefs mkswap",
    "dmsetup": "dmsetup",
    "fio": "fio",
    "systemtap": "staprun",
}
PACKAGES = {tool: name for name, tools in TOOLS_OF.items() for tool in tools.split()}
# The program of `core` is one of the compiled parts.
ENGINE_TOOLS = {"stap": "staprun"}


def problems(
    scenario: Scenario,
    injector: type[Injector],
    engines: tuple[str, ...],
    missing: list[Path],
) -> list[str]:
    """List the problems, a line each with its remedy at the end."""
    return [
        *_privilege(),
        *_kernel(scenario),
        *_tools(scenario, injector, engines),
        *_packages(scenario),
        *_jars(scenario),
        *_sysctls(scenario),
        *memory.problems(scenario.memory),
        *cgroups.problems(scenario.cgroup),
        *injector.problems(),
        *(f"{path} is missing; build it or name another --build" for path in missing),
    ]


def _privilege() -> Iterator[str]:
    if os.geteuid() != 0:
        yield "mounting and loading modules need root; use sudo"


def _kernel(scenario: Scenario) -> Iterator[str]:
    if outside := scenario.kernel.excludes(os.uname().release):
        yield f"{outside}; boot another"


def _tools(
    scenario: Scenario, injector: type[Injector], engines: tuple[str, ...]
) -> Iterator[str]:
    kind = scenario.filesystem.type
    needed = ["mount", "umount", "wipefs"] + [f"mkfs.{kind}"] * (kind != "tmpfs")
    needed += ["modprobe", "losetup"] if scenario.filesystem.loop else []
    needed += memory.TOOLS if scenario.memory else ()
    needed += injector.tools
    needed += ["fio"] if any(work.kind == "fio" for work in scenario.workload) else []
    needed += [ENGINE_TOOLS[name] for name in engines if name in ENGINE_TOOLS]
    for name in needed:
        if shutil.which(name) is None:
            yield f"{name} is missing; install {PACKAGES[name]}"
    if engines and not os.access(tracer.LAUNCHER, os.X_OK):
        yield f"{tracer.LAUNCHER} is missing; use a complete checkout"


def _packages(scenario: Scenario) -> Iterator[str]:
    for name in scenario.machine.packages:
        known = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", name]
        try:
            done = subprocess.run(known, capture_output=True, text=True, check=False)
        except OSError:
            return  # not a Debian: its programs may be there by other names
        if done.stdout != "installed":
            yield f"package {name} is missing; install it"


def _jars(scenario: Scenario) -> Iterator[str]:
    listed = scenario.machine.jars
    if listed and not JARS.is_dir():
        build = f"vm/vm build --jars repro/apps/{listed}.jars jars"
        yield f"{JARS} is missing; mount there the folder that `{build}` prints"


def _sysctls(scenario: Scenario) -> Iterator[str]:
    for name in scenario.sysctl:
        if not tuning.sysctl_path(name).is_file():
            yield f"sysctl {name} does not exist here; remove it from the scenario"
