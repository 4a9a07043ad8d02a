# SPDX-License-Identifier: GPL-2.0-only
"""memory: limit the writers' memory with a cgroup and swap to the scratch disk.

A task that reaches the limit of its cgroup must free memory first: direct reclaim
(mm/memcontrol.c, try_charge_memcg()). Pages of a tmpfs can only be swapped out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labrun.scenario.keys import Memory
from labrun.setup.disk import Disk
from writestall_base.process import tool
from writestall_base.steps import Run

# Documentation/admin-guide/cgroup-v2.rst
CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = CGROUPS / "cgroup.controllers"
OF_CHILDREN = CGROUPS / "cgroup.subtree_control"
CONTROLLER = "memory"
# Used before the machine's other swap: swapon(2), SWAP_FLAG_PREFER.
FIRST = ["--priority", "32767"]
# swapoff(8) reads everything back, from a disk that may be slow.
SWAPOFF_TIMEOUT_S = 300
TOOLS = ("mkswap", "swapon", "swapoff")


def problems(memory: Memory | None) -> Iterator[str]:
    """List what this machine lacks for a limit, a line each with its remedy."""
    if memory and not (CONTROLLERS.is_file() and CONTROLLER in _words(CONTROLLERS)):
        yield (
            f"no cgroup v2 with a memory controller at {CGROUPS};"
            f" mount -t cgroup2 cgroup2 {CGROUPS}"
        )


def swap_argvs(memory: Memory | None, disk: str) -> list[list[str]]:
    """Return the mkswap(8) and swapon(8) commands; none without a limit."""
    return [["mkswap", disk], ["swapon", *FIRST, disk]] if memory else []


@contextmanager
def swapping(run: Run, memory: Memory | None, disk: Disk) -> Iterator[None]:
    """Swap to the disk; swapoff(8) at the end."""
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
                step.skip("swap was not on")


def limit_commands(memory: Memory | None) -> list[list[str]]:
    """Return the commands of limited(), as typed in a shell."""
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
    """Map files of the cgroup to values; no zswap, which would keep swap in memory."""
    return {"memory.max": str(memory.limit_bytes), "memory.zswap.max": "0"}


@contextmanager
def limited(run: Run, memory: Memory | None) -> Iterator[Path | None]:
    """Yield the writers' cgroup, removed at the end; None without a limit."""
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
                step.skip("no cgroup was made")
            if not shared:
                OF_CHILDREN.write_text(f"-{CONTROLLER}")


def inside(group: Path | None, argv: Sequence[str]) -> list[str]:
    """Return a command that joins the cgroup and executes the one given."""
    if group is None:
        return list(argv)
    join = 'echo $$ >"$0" && exec "$@"'
    return ["sh", "-c", join, str(group / "cgroup.procs"), *argv]


def _words(path: Path) -> list[str]:
    return path.read_text().split()
