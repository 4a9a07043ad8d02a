#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will create files in two cgroups, and find the handles and blocks of each
in the journal's transactions, which add up to those of the commits."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

import lab

CGROUPS = Path("/sys/fs/cgroup")
FILES = {"wst-few": 5, "wst-many": 40}


def creates(group: Path, count: int) -> int:
    """A child in a cgroup that creates files; its status."""

    def body() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        for number in range(count):
            path = lab.MOUNT / f"{group.name}-{number}"
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

    return lab.reap(lab.child(body))


def sums(events: list[lab.Event], key: str, dev: str) -> Counter[int]:
    """Handles or blocks by cgroup."""
    found: Counter[int] = Counter()
    for event in events:
        if event["ev"] == "handles" and event["dev"] == dev:
            found[event["cgroup"]] += event[key]
    return found


def check(tracer: lab.Tracer, dev: str, ids: dict[str, int]) -> None:
    all_events, who = tracer.stop(), tracer.engine
    # the first commit has handles of before
    numbers = [one["transaction"] for one in all_events if one["ev"] == "commit"]
    first = min(numbers, default=0)
    events = [one for one in all_events if one.get("transaction", 0) > first]
    handles = sums(events, "handles", dev)
    for name, count in FILES.items():
        found = handles[ids[name]]
        lab.expect(found >= count, f"{who}: {found} handles in {name}, want {count}")
    many, few = handles[ids["wst-many"]], handles[ids["wst-few"]]
    lab.expect(many > 4 * few, f"{who}: {many} and {few} handles")
    commits = [one for one in events if one["ev"] == "commit" and one["dev"] == dev]
    whole = sum(one["handles"] for one in commits)
    counted = sum(handles.values())
    lab.expect(
        bool(commits) and counted == whole, f"{who}: {counted} of {whole} handles"
    )
    blocks = sum(sums(events, "blocks", dev).values())
    most = sum(one["blocks"] for one in commits)
    lab.expect(0 < blocks <= most, f"{who}: {blocks} of {most} blocks")


def test(options: argparse.Namespace) -> None:
    if not lab.mounts("cgroup2"):
        return
    groups = {name: CGROUPS / name for name in FILES}
    for path in groups.values():
        path.mkdir()
    ids = {name: path.stat().st_ino for name, path in groups.items()}
    with lab.disk() as disk:
        engines = lab.serving()
        modules = options.modules
        with lab.tracing(modules, engines, script="journal_commits") as tracers:
            (lab.MOUNT / "before").touch()
            os.sync()
            for name, count in FILES.items():
                lab.expect(creates(groups[name], count) == 0, "a child failed")
            os.sync()
            for tracer in tracers:
                check(tracer, disk.dev, ids)
    for path in groups.values():
        path.rmdir()


if __name__ == "__main__":
    sys.exit(lab.main(test))
