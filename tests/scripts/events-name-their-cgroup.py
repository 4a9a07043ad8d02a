#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold direct writes and syncs of tasks in cgroups that are older and
younger than the tracer, and under a limit of io.max, and find each cgroup by its path
in both versions, with the time that blk-throttle kept a bio back."""

from __future__ import annotations

import argparse
import mmap
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import lab

V2 = Path("/sys/fs/cgroup")
V1 = Path("/tmp/cgroup-v1")
TRACEABLE = Path("/sys/kernel/tracing/available_filter_functions")
HOLD_S = 0.4
CAP_BYTES_S = 1 << 20
CAPPED_BYTES = 1 << 20
Groups = dict[str, Path]


def is_empty(procs: Path) -> bool:
    """Whether no task is left in a cgroup."""
    return not procs.read_text()


def remove_empty(path: Path) -> None:
    """Remove a cgroup once its last task has left."""
    lab.until(lambda: not (path / "cgroup.procs").read_text())
    path.rmdir()


@contextmanager
def groups(names: list[str], top: Path = V2) -> Iterator[Groups]:
    """Cgroups of these names, removed at the end."""
    made = {name: top / name for name in names}
    for path in made.values():
        path.mkdir(parents=True)
    try:
        yield made
    finally:
        for path in reversed(made.values()):
            lab.until(partial(is_empty, path / "cgroup.procs"))
            path.rmdir()


@contextmanager
def controlled() -> Iterator[None]:
    """The controller of I/O in the cgroups below the root."""
    control = V2 / "cgroup.subtree_control"
    control.write_text("+io")
    try:
        yield
    finally:
        control.write_text("-io")


def writes(group: Path, path: Path, size: int = lab.PAGE) -> int:
    """A child in the cgroup that writes past the page cache, in place."""

    def body() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        fd = os.open(path, os.O_RDWR | os.O_DIRECT)
        os.pwrite(fd, mmap.mmap(-1, size), 0)

    return lab.child(body)


def held(disk: lab.Disk, group: Path, path: Path) -> int:
    """A write of a task in the cgroup, held for a while; its pid."""
    with disk.stalled():
        pid = writes(group, path)
        lab.wait_blocked(pid)
        time.sleep(HOLD_S)
    lab.expect(lab.reap(pid) == 0, "a child failed")
    return pid


def is_printed(group: Path, tracer: lab.Tracer) -> bool:
    """Whether a tracer printed the path of a cgroup."""
    return f'"path":"/{group.name}"'.encode() in tracer.output.read_bytes()


def capped(disk: lab.Disk, group: Path, path: Path, tracers: list[lab.Tracer]) -> int:
    """A write that a limit keeps back; its pid. It exists on the dm device itself, and
    each tracer printed the cgroup before it had it."""
    held(disk, group, path)
    for tracer in tracers:
        lab.until(partial(is_printed, group, tracer))
    (group / "io.max").write_text(f"{disk.dev} wbps={CAP_BYTES_S}")
    pid = writes(group, path, CAPPED_BYTES)
    lab.expect(lab.reap(pid) == 0, "a child failed")
    return pid


def of_bio(engine: str) -> bool:
    """Whether the events of a bio tell; SystemTap's do since Linux 5.19
    (stap/tapset/cgroups.stp, CG_OF_BIO)."""
    return engine == lab.CORE or lab.release() >= (5, 19)


def check(events: list[lab.Event], who: str, pid: int, field: str, id: int) -> None:
    """All that the events tell of a task's cgroup."""
    for kind in ("block", "write", *["io"] * of_bio(who)):
        own = [one for one in events if one["ev"] == kind and one["tid"] == pid]
        lab.expect(bool(own), f"{who}: no {kind} of {pid}")
        # entering a cgroup is a sleep, too
        longest = max(own, key=lambda one: one["dur_ns"])
        lab.expect(longest[field] == id, f"{who}: {field}, want {id}: {longest}")


def check_paths(events: list[lab.Event], who: str, known: dict[int, str]) -> None:
    """One event of each, and one of the limit once a bio tells of it. Before Linux 5.5
    an id does not open a younger cgroup (trace/launcher/cgroups.py)."""
    told = ["/wst-capped"] * of_bio(who)
    cgroups = [one for one in events if one["ev"] == "cgroup"]
    paths = {one["id"]: one["path"] for one in cgroups}
    limits = [one for one in cgroups if "io_max" in one]
    lab.expect(
        len(paths) + len(told) == len(cgroups),
        f"{who}: a cgroup was printed twice: {cgroups}",
    )
    lab.expect(
        [one["path"] for one in limits] == told
        and all(f" wbps={CAP_BYTES_S} " in one["io_max"] for one in limits),
        f"{who}: the limits: {limits}",
    )
    for id, path in known.items():
        if path == "/wst-late" and lab.release() < (5, 5):
            continue
        lab.expect(paths.get(id) == path, f"{who}: {id}: {paths.get(id)}, want {path}")
    lab.expect(all(one["version"] == 2 for one in cgroups), f"{who}: {cgroups}")


def check_throttled(
    events: list[lab.Event], who: str, slow: int, pids: set[int]
) -> None:
    ios = [one for one in events if one["ev"] == "io"]
    if "\nthrotl_qnode_add_bio\n" not in TRACEABLE.read_text():
        lab.expect({one["throttled_ns"] for one in ios} == {None}, f"{who}: {ios}")
        return
    longest_ns = max(one["throttled_ns"] for one in ios if one["tid"] == slow)
    wanted_ns = (CAPPED_BYTES / CAP_BYTES_S - 0.4) * 1e9
    lab.expect(longest_ns >= wanted_ns, f"{who}: throttled for {longest_ns} ns")
    for one in ios:
        lab.expect(one["throttled_ns"] <= one["dur_ns"], f"{who}: {one}")
        free = one["tid"] not in pids or not one["throttled_ns"]
        lab.expect(free, f"{who}: throttled without a limit: {one}")


@contextmanager
def traced(options: argparse.Namespace) -> Iterator[tuple[Groups, list[lab.Tracer]]]:
    """Cgroups with the controller, and the tracers that find them there."""
    with (
        controlled(),
        groups(["wst-early", "wst-capped"]) as early,
        lab.tracing(options.modules, lab.serving()) as tracers,
    ):
        yield early, tracers


def version_2(options: argparse.Namespace, disk: lab.Disk) -> None:
    paths = [lab.unread(name, 256) for name in ("early", "late", "capped")]
    with traced(options) as (early, tracers):
        with groups(["wst-late"]) as late:
            made = early | late
            ids = {path.stat().st_ino: f"/{name}" for name, path in made.items()}
            pids = {
                held(disk, made["wst-early"], paths[0]): made["wst-early"],
                held(disk, made["wst-late"], paths[1]): made["wst-late"],
            }
            slow = capped(disk, made["wst-capped"], paths[2], tracers)
            numbers = {pid: path.stat().st_ino for pid, path in pids.items()}
            numbers[slow] = made["wst-capped"].stat().st_ino
        for tracer in tracers:
            inner, cgroups = tracer.stop(), tracer.events()
            for pid, id in numbers.items():
                check(inner, tracer.engine, pid, "cgroup", id)
            check_paths(cgroups, tracer.engine, ids)
            check_throttled(inner, tracer.engine, slow, set(pids))


@contextmanager
def mounted_v1() -> Iterator[None]:
    """The hierarchy of version 1 with the controller of block I/O."""
    V1.mkdir(exist_ok=True)
    mount = f"mount -t cgroup -o blkio none {V1} 2>/dev/null"
    lab.until(lambda: os.system(mount) == 0)
    try:
        yield
    finally:
        lab.run("umount", V1)


def version_1(options: argparse.Namespace, disk: lab.Disk) -> None:
    path = lab.unread("version-1")
    with mounted_v1(), groups(["wst-v1"], V1) as made:
        id = made["wst-v1"].stat().st_ino
        with lab.tracing(options.modules, lab.serving()) as tracers:
            pid = held(disk, made["wst-v1"], path)
            for tracer in tracers:
                check(tracer.stop(), tracer.engine, pid, "cgroup_v1", id)
                cgroups = [one for one in tracer.events() if one["ev"] == "cgroup"]
                one = {"id": id, "version": 1, "path": "/wst-v1"}
                found = any(one.items() <= event.items() for event in cgroups)
                lab.expect(found, f"{tracer.engine}: {cgroups}, want {one}")


def test(options: argparse.Namespace) -> None:
    if not lab.mounts("cgroup2"):
        return
    with lab.disk() as disk:
        version_2(options, disk)
    with lab.disk() as disk:  # the controller is free once nothing has its cgroups
        version_1(options, disk)


if __name__ == "__main__":
    sys.exit(lab.main(test))
