# SPDX-License-Identifier: GPL-2.0-only
"""memory: limit the writers' memory with a cgroup and swap to the scratch disk.

A task that takes the last memory of its cgroup must free some of it first: direct
reclaim (mm/memcontrol.c, try_charge_memcg()). What a tmpfs holds can go to swap alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labrun.process import tool
from labrun.scenario.keys import Memory
from labrun.setup.disk import Disk
from labrun.steps import Run

# Documentation/admin-guide/cgroup-v2.rst
CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = CGROUPS / "cgroup.controllers"
OF_CHILDREN = CGROUPS / "cgroup.subtree_control"
CONTROLLER = "memory"
# Before any swap that the machine has: swapon(2), SWAP_FLAG_PREFER.
FIRST = ["--priority", "32767"]
# What was swapped out comes back first, from a disk that may be slow.
SWAPOFF_TIMEOUT_S = 300
TOOLS = ("mkswap", "swapon", "swapoff")


def problems(memory: Memory | None) -> Iterator[str]:
    """What this machine lacks for a limit, one line each, remedy at the end."""
    if memory and not (CONTROLLERS.is_file() and CONTROLLER in _words(CONTROLLERS)):
        yield (
            f"no cgroup v2 with a memory controller at {CGROUPS};"
            f" mount -t cgroup2 cgroup2 {CGROUPS}"
        )


def swap_argvs(memory: Memory | None, disk: str) -> list[list[str]]:
    """mkswap(8) and swapon(8); without a limit nothing is swapped."""
    return [["mkswap", disk], ["swapon", *FIRST, disk]] if memory else []


@contextmanager
def swapping(run: Run, memory: Memory | None, disk: Disk) -> Iterator[None]:
    """Swap on the disk, gone afterwards."""
    if memory is None:
        yield
        return
    on = False
    try:
        with run.step("swap", disk.path):
            for argv in swap_argvs(memory, disk.path):
                tool(argv)
            on = True
        yield
    finally:
        with run.undo("swapoff", disk.path) as step:
            if on:
                tool(["swapoff", disk.path], SWAPOFF_TIMEOUT_S)
            else:
                step.skip("no swap was on")


def limit_commands(memory: Memory | None) -> list[list[str]]:
    """What limited() does, as a person would type it."""
    if memory is None:
        return []
    group = CGROUPS / "writestall"
    return [
        ["sh", "-c", f"echo +{CONTROLLER} >{OF_CHILDREN}"],
        ["mkdir", str(group)],
        *(
            ["sh", "-c", f"echo {value} >{group / name}"]
            for name, value in _limits(memory).items()
        ),
    ]


def _limits(memory: Memory) -> dict[str, str]:
    """A cgroup's files, and what goes there: no memory holds what is swapped."""
    return {"memory.max": str(memory.limit_bytes), "memory.zswap.max": "0"}


@contextmanager
def limited(run: Run, memory: Memory | None) -> Iterator[Path | None]:
    """The writers' cgroup, gone afterwards; None without a limit."""
    if memory is None:
        yield None
        return
    group = CGROUPS / f"writestall-{os.getpid()}"
    shared = CONTROLLER in _words(OF_CHILDREN)
    try:
        with run.step("limit", f"{memory.limit_bytes} bytes, {group}"):
            OF_CHILDREN.write_text(f"+{CONTROLLER}")
            group.mkdir()
            for name, value in _limits(memory).items():
                if (group / name).exists():  # zswap: since 5.19, where it is built in
                    (group / name).write_text(value)
            run.manifest["memory"] = {"limit_bytes": memory.limit_bytes}
        yield group
    finally:
        with run.undo("limit-remove") as step:
            if group.is_dir():
                counts = (group / "memory.events").read_text().splitlines()
                step.detail = ", ".join(counts)
                group.rmdir()
            else:
                step.skip("there was none")
            if not shared:
                OF_CHILDREN.write_text(f"-{CONTROLLER}")


def inside(group: Path | None, argv: Sequence[str]) -> list[str]:
    """The command that joins a cgroup first and then is the one given."""
    if group is None:
        return list(argv)
    join = 'echo $$ >"$0" && exec "$@"'
    return ["sh", "-c", join, str(group / "cgroup.procs"), *argv]


def _words(path: Path) -> list[str]:
    return path.read_text().split()
