# SPDX-License-Identifier: GPL-2.0-only
"""cgroups: make the cgroups of a scenario, with their limits on the scratch disk.

Pages are written for the cgroup that dirtied them where it has a controller of memory
and of I/O (fs/fs-writeback.c, inode_attach_wb()), so both are switched on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labrun.scenario.keys import Cgroup
from labrun.setup.disk import Disk
from labrun.setup.memory import CGROUPS, CONTROLLERS
from writestall_base.steps import Run

NEEDED = ("io", "memory")
# Switches blk-iocost on for a disk, which deals it out by io.weight
# (block/blk-iocost.c, ioc_qos_write() and ioc_weight_write()).
COST = "io.cost.qos"
# Files of a cgroup that limit it on one disk, and what ends that.
ENDED = {"io.max": "rbps=max wbps=max riops=max wiops=max", "io.weight": "default"}
GroupOf = Callable[[str | None], Path | None]


def problems(groups: Sequence[Cgroup]) -> Iterator[str]:
    """List what this machine lacks for cgroups, a line each with its remedy."""
    there = CONTROLLERS.read_text().split() if CONTROLLERS.is_file() else []
    for name in NEEDED:
        if groups and name not in there:
            yield (
                f"no cgroup v2 with the controller {name} at {CGROUPS};"
                f" mount -t cgroup2 cgroup2 {CGROUPS}"
            )
    if _weighed(groups) and there and not (CGROUPS / COST).exists():
        yield f"no {CGROUPS / COST}; io_weight wants CONFIG_BLK_CGROUP_IOCOST"


def limits(group: Cgroup) -> dict[str, str]:
    """Return what a cgroup's files are to hold, without the disk."""
    maximum = " ".join(f"{name}={value}" for name, value in group.io_max.items())
    weight = str(group.io_weight or "")
    both = {"io.max": maximum, "io.weight": weight}
    return {name: text for name, text in both.items() if text}


def _weighed(groups: Sequence[Cgroup]) -> bool:
    return any(group.io_weight for group in groups)


def commands(groups: Sequence[Cgroup], disk: str) -> Iterator[list[str]]:
    """Yield the commands of grouped(), as typed in a shell."""
    top = CGROUPS / "writestall"
    for folder in (CGROUPS, top) if groups else ():
        yield ["mkdir", "-p", str(folder)]
        for name in NEEDED:
            yield ["sh", "-c", f"echo +{name} >{folder}/cgroup.subtree_control"]
    number = f"$(lsblk --noheadings --nodeps --output MAJ:MIN {disk})"
    if _weighed(groups):
        yield ["sh", "-c", f'echo "{number} enable=1" >{CGROUPS / COST}']
    for group in groups:
        yield ["mkdir", str(top / group.name)]
        for name, text in limits(group).items():
            yield ["sh", "-c", f'echo "{number} {text}" >{top / group.name / name}']


@contextmanager
def grouped(run: Run, groups: Sequence[Cgroup], disk: Disk) -> Iterator[GroupOf]:
    """Yield a function that returns the folder of a cgroup by its name."""
    if not groups:
        yield lambda _: None
        return
    top = CGROUPS / f"writestall-{os.getpid()}"
    before = (CGROUPS / "cgroup.subtree_control").read_text().split()
    try:
        with run.step("cgroups") as step:
            for folder in (CGROUPS, top):
                folder.mkdir(exist_ok=True)
                _switch(folder, "+", NEEDED)
            if _weighed(groups):
                (CGROUPS / COST).write_text(f"{disk.dev} enable=1")
            for group in groups:
                _make(top / group.name, group, disk)
            texts = [" ".join([group.name, *_settings(group)]) for group in groups]
            step.detail = ", ".join(texts)
            run.manifest["cgroups"] = [_noted(top, group) for group in groups]
        yield lambda name: top / name if name else None
    finally:
        with run.undo("cgroups-remove") as step:
            if not top.is_dir():
                step.skip("no cgroup was made")
            for group in groups:
                _remove(top / group.name, group, disk)
            if top.is_dir():
                top.rmdir()
            if _weighed(groups):
                (CGROUPS / COST).write_text(f"{disk.dev} enable=0")
            _switch(CGROUPS, "-", [name for name in NEEDED if name not in before])


def _settings(group: Cgroup) -> Iterator[str]:
    for name, text in limits(group).items():
        yield text if name == "io.max" else f"{name}={text}"


def _noted(top: Path, group: Cgroup) -> dict[str, object]:
    path = f"/{(top / group.name).relative_to(CGROUPS)}"
    limited = {"io_max": dict(group.io_max), "io_weight": group.io_weight}
    return {"name": group.name, "path": path, **limited}


def _switch(folder: Path, sign: str, names: Sequence[str]) -> None:
    """Switch controllers on or off in the cgroups below one."""
    control = folder / "cgroup.subtree_control"
    for name in names:
        control.write_text(f"{sign}{name}")


def _make(folder: Path, group: Cgroup, disk: Disk) -> None:
    folder.mkdir()
    for name, text in limits(group).items():
        (folder / name).write_text(f"{disk.dev} {text}")


def _remove(folder: Path, group: Cgroup, disk: Disk) -> None:
    """Remove a cgroup; what it wrote last goes down without its limits."""
    if not folder.is_dir():
        return
    for name in limits(group):
        (folder / name).write_text(f"{disk.dev} {ENDED[name]}")
    folder.rmdir()
