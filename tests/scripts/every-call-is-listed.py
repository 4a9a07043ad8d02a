#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall each call of the table of calls, one by one, and a load and a
store in the mapping of a file, and find each as one event of its own name, with its
path, device, place and duration; with --call, only those that were chosen."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import single_calls
from single_calls import CASES, FAULTS, Case, Scene

import lab

HOLD_S = 0.3
STALL_US = 200_000
CHOSEN = "syncs,mkdir"
CHOSEN_CASES = ("mkdir", "unlink", "fsync", "page_fault.load")
Subject = tuple[str, Case, int]  # label, case and task


def journal() -> int:
    """The thread of the stalling disk's journal."""
    name = f"dm-{os.minor(lab.DEVICE.stat().st_rdev)}"
    for comm in Path("/proc").glob("[0-9]*/comm"):
        if lab.contents(comm).startswith(f"jbd2/{name}"):
            return int(comm.parent.name)
    raise lab.FoundError(f"no journal of {name}")


def commit_stalls(scene: Scene) -> int:
    """Have a commit sleep with the blocks of the folder and its files in it."""
    pid = lab.child(lambda: os.fsync(scene.folder))
    lab.wait_blocked(pid)
    lab.wait_blocked(journal())
    return pid


def ready(scene: Scene, case: Case) -> None:
    """Bring the file system to where the call will need the disk."""
    if case.needs == "mount":
        lab.run("umount", lab.MOUNT)
        lab.run("mount", lab.DEVICE, lab.MOUNT)
        scene.open_folder()
        return
    scene.open()
    if case.needs == "data":
        os.pwrite(scene.fd, b"z" * single_calls.PAGES * lab.PAGE, 0)
    elif case.needs in {"commit", "emptied"}:
        os.pread(scene.fd, single_calls.PAGES * lab.PAGE, 0)
        os.sync()
        os.fchmod(scene.fd, 0o640)
        for folder in (scene.path, scene.path / "sub"):
            folder.chmod(0o750)
    if case.needs == "emptied":
        # The last close of such a file allocates its blocks (fs/ext4/file.c,
        # ext4_release_file(): EXT4_STATE_DA_ALLOC_CLOSE).
        os.ftruncate(scene.fd, 0)
        os.pwrite(scene.fd, b"z" * lab.PAGE, 0)


def stall(disk: lab.Disk, label: str, case: Case, do: Callable[[Scene], None]) -> int:
    """Make a call in a task of its own, held for HOLD_S; the task."""
    scene = Scene(label)
    scene.make()
    ready(scene, case)
    children = []
    try:
        with disk.stalled():
            if case.needs in {"commit", "emptied"}:
                children.append(commit_stalls(scene))
            children.append(lab.child(partial(do, scene)))
            lab.wait_blocked(children[-1], label)
            time.sleep(HOLD_S)
    finally:
        failed = any([lab.reap(child) for child in children])
        scene.close()
    lab.expect(not failed, f"{label} failed")
    return children[-1]


def subjects() -> dict[str, tuple[Case, Callable[[Scene], None]]]:
    """What this kernel has, by label."""
    every: dict[str, tuple[Case, Callable[[Scene], None]]] = {
        name: (case, partial(single_calls.made, name, case))
        for name, case in CASES.items()
    } | {label: (case, do) for label, (do, case) in FAULTS.items()}
    found = {name: it for name, it in every.items() if it[0].since <= lab.release()}
    again = {
        f"{name}.{number}": found[name]
        for name, times in single_calls.BY_CHANCE.items()
        for number in range(times if name in found else 0)
    }
    return found | again


def wanted(disk: lab.Disk, label: str, case: Case) -> dict[str, object]:
    """What an event of the case must say."""
    path = {None: None, "": f"lab/{label}"}.get(case.name, f"{label}/{case.name}")
    return {
        "call": label.partition(".")[0],
        "dev": disk.dev if path else None,
        "path": path,
        "offset": case.offset,
        "bytes": case.bytes,
    }


def mistakes(tracer: lab.Tracer, disk: lab.Disk, made: list[Subject]) -> list[str]:
    """Each of the tasks has one event, and that is right; else it is said."""
    events = [event for event in tracer.stop() if event["ev"] == "write"]
    wrong = []
    for label, case, pid in made:
        own = [event for event in events if event["tid"] == pid]
        if len(own) != 1:
            wrong.append(f"{label}: {len(own)} events {[e['call'] for e in own]}")
            continue
        want = wanted(disk, label, case)
        got = {name: own[0][name] for name in want}
        if got != want:
            wrong.append(f"{label}: {got}, not {want}")
        if (own[0]["fd"] is None) != (case.fd is None):
            wrong.append(f"{label}: fd {own[0]['fd']}")
        if own[0]["dur_ns"] < HOLD_S * 1e9 or own[0]["slept_ns"] < HOLD_S * 1e9:
            wrong.append(f"{label}: slept {own[0]['slept_ns']} ns only")
    return [f"{tracer.engine}: {text}" for text in wrong]


def every_call(options: argparse.Namespace) -> None:
    limit = ("--stall-us", str(STALL_US))
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving(), *limit) as tracers,
    ):
        made = []
        for label, (case, do) in subjects().items():
            made.append((label, case, stall(disk, label, case, do)))
        wrong = [text for tracer in tracers for text in mistakes(tracer, disk, made)]
        lab.expect(not wrong, "; ".join(wrong))


def chosen_calls(options: argparse.Namespace) -> None:
    limit = ("--stall-us", str(STALL_US), "--call", CHOSEN)
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving(), *limit) as tracers,
    ):
        every = subjects()
        pids = {
            label: stall(disk, label, *every[label])
            for label in CHOSEN_CASES
            if label in every
        }
        for tracer in tracers:
            events = lab.writes_to(disk, tracer.stop())
            found = {e["call"] for e in events if e["tid"] in pids.values()}
            lab.expect(found == {"mkdir", "fsync"}, f"{tracer.engine} found {found}")


def test(options: argparse.Namespace) -> None:
    every_call(options)
    chosen_calls(options)


if __name__ == "__main__":
    sys.exit(lab.main(test))
