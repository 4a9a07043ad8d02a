# SPDX-License-Identifier: GPL-2.0-only
"""roots: name the root causes of a chain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from writestall.chain.cgroups import Naming
from writestall.chain.parts import Chain, Part
from writestall.events.run_directory import RunDir, tables
from writestall_base import wait_classes as c

THE_WRITER = "the writer"


class Root(Struct, frozen=True, gc=False, cache_hash=True):
    """The root cause of a leaf of a chain.

    `who` is jbd2, writeback, the writer, a task's name, or a cgroup whose limit `cap`,
    in words, kept I/O back (empty where it is not known); `device` a disk's name.
    """

    cls: str
    who: str
    device: str | None = None
    cap: str | None = None

    def __str__(self) -> str:
        return _root_text(self)


_ROOT_TEXTS = {
    c.DEVICE_IO: "{device} slow for {who}",
    c.RUNQUEUE: "no CPU for {who}",
    c.RUNNING: "{who} on a CPU",
    c.DIRTY_THROTTLE: "dirty throttling of {who}",
    c.MEMORY: "no memory for {who}",
    c.UNEXPLAINED: "unexplained",
    c.OTHER: "short sleeps of {who}",
}


@lru_cache(maxsize=4096)
def _root_text(root: Root) -> str:
    if root.cap is not None:
        at = f"capped at {root.cap}" if root.cap else "throttled"
        return f"{root.who}, {at} by io.max"
    text = _ROOT_TEXTS.get(root.cls, "{cls} of {who}")
    return text.format(cls=root.cls, who=root.who, device=root.device)


class Roots:
    """The roots of one run's chains; `name` names a cgroup that has a limit."""

    def __init__(self, run: RunDir, name: Naming) -> None:
        self._carried = _carried(run)
        self._of_run = limits(run)
        self._limits = dict(self._of_run)
        self._name = name
        self._known: dict[tuple[Any, ...], Root] = {}
        # The chain that was asked about last, and the answer: several ask in a row.
        self._last: tuple[Chain | None, dict[Root, int]] = (None, {})

    def learn(self, io_max: Mapping[str, str]) -> None:
        """Add the limits that `cgroup` events have, by the path of the cgroup."""
        found = {path: parsed(text) for path, text in io_max.items()}
        if not found.items() <= self._limits.items():
            self._limits |= found
            self._known.clear()

    def forget(self) -> None:
        """Drop what is cached of tasks and cgroups: a host always has new ones."""
        self._known.clear()
        self._limits = dict(self._of_run)
        self._last = (None, {})

    def leaf(self, chain: Chain, leaf: Part) -> Root:
        write, task = chain.write, leaf.task
        own = leaf.submitter.tid == write.tid
        key = (
            write.dev, leaf.cls, leaf.kind, leaf.explained, leaf.owner, task, own,
            leaf.cap,
        )  # fmt: skip
        root = self._known.get(key)
        if root is None:
            root = self._known[key] = self._leaf(chain, leaf)
        return root

    def of(self, chain: Chain) -> dict[Root, int]:
        """A chain's roots in ns, each once, in the order of its leaves."""
        last, totals = self._last
        if last is not chain:
            totals = Counter()
            for leaf in chain.leaves():
                totals[self.leaf(chain, leaf)] += leaf.dur_ns
            self._last = (chain, totals)
        return totals

    def _leaf(self, chain: Chain, leaf: Part) -> Root:
        cls = leaf.cls if leaf.explained else c.UNEXPLAINED
        if leaf.kind == c.SHORT_SLEEPS:
            cls = c.OTHER
        if cls == c.UNEXPLAINED:
            return Root(cls, "")
        if leaf.cap:
            path, cap = level(self._limits, leaf.cap.cgroup, leaf.cap.op)
            return Root(cls, self._name(path), self.disk(chain.write.dev), cap)
        owner, device = leaf.submitter, None
        if cls == c.DEVICE_IO:
            device = journal_disk(owner.comm) or self.disk(chain.write.dev)
        own = owner.tid == chain.write.tid and owner.role != c.JOURNAL
        return Root(cls, THE_WRITER if own else owner.name or owner.comm, device)

    def disk(self, dev: str | None) -> str:
        """The disk of files with that number."""
        if dev in self._carried:
            return self._carried[dev]
        return f"disk {dev}" if dev else "the disk"


def _carried(run: RunDir) -> dict[str | None, str]:
    """The run's disk's name by each number its files may have.

    A file system has its disk's number, or an anonymous one, as btrfs and tmpfs do
    (fs/super.c, set_anon_super()); a tmpfs is on the disk that is its swap, or on none.
    """
    name = run.get("device", "name")
    if not isinstance(name, str):
        return _of_host(run)
    on_no_disk = run.get("filesystem", "type") == "tmpfs" and not run.get("memory")
    numbers = {None, run.get("device", "dev")}
    if not on_no_disk:
        numbers.add(run.get("filesystem", "dev"))
    return dict.fromkeys(numbers, name)


def _of_host(run: RunDir) -> dict[str | None, str]:
    """The names of all disks and partitions of a host that was recorded."""
    found: dict[str | None, str] = {}
    for disk in tables(run.get("disks")):
        for device in (disk, *tables(disk.get("partitions"))):
            found[device.get("dev")] = str(device.get("name"))
    return found


@lru_cache(maxsize=4096)
def journal_disk(comm: str) -> str | None:
    """The disk of a journal's thread, by its name, which holds 15 characters.

    jbd2 names its thread after the disk: fs/jbd2/journal.c, jbd2_stats and kjournald2's
    "jbd2/%s" with "-8" for the inode of the journal.
    """
    match = re.fullmatch(r"jbd2/(.+?)(-\d+)?", comm)
    return match[1] if match and len(comm) < 15 else None


def largest_first(rows: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Amounts summed up by key, largest first."""
    totals = Counter[Any]()
    for key, ns in rows:
        totals[key] += ns
    return dict(totals.most_common())


Limits = dict[str, int]
# The keys of io.max (Documentation/admin-guide/cgroup-v2.rst) by what an I/O does.
_OF_OPERATION = {"read": ("rbps", "riops")}
_OF_OTHERS = ("wbps", "wiops")
_SETTING = re.compile(r"\b([rw](?:bps|iops))=(\d+)")


def limits(run: RunDir) -> dict[str, Limits]:
    """The limits of io.max that were in force in a run, by the path of the cgroup.

    A scenario's cgroups are in `cgroups`; those of a recorded host's tasks are in
    `tasks`, as the file has them.
    """
    found = {
        str(group.get("path")): {
            name: value
            for name, value in (group.get("io_max") or {}).items()
            if isinstance(value, int)
        }
        for group in tables(run.get("cgroups"))
    }
    for task in tables(run.get("tasks")):
        for level in tables(task.get("limits")):
            path = str(level.get("path"))
            found.setdefault(path, parsed(str(level.get("io.max", ""))))
    return found


def parsed(io_max: str) -> Limits:
    """The limits of a file io.max: of several disks the last one's."""
    return {name: int(value) for name, value in _SETTING.findall(io_max)}


def level(known: dict[str, Limits], path: str, op: str) -> tuple[str, str]:
    """The cgroup, or the nearest one above it, that has a limit for what an I/O does,
    and the limit: `2 MiB/s`; the cgroup itself and nothing where none is known.
    """
    parts = path.split("/")
    for end in range(len(parts), 0, -1):
        above = "/".join(parts[:end]) or "/"
        limit = _words(known.get(above, {}), op)
        if limit:
            return above, limit
    return path, ""


def _words(limit: Limits, op: str) -> str:
    in_bytes, in_operations = _OF_OPERATION.get(op, _OF_OTHERS)
    said = []
    if in_bytes in limit:
        said.append(f"{limit[in_bytes] / (1 << 20):g} MiB/s")
    if in_operations in limit:
        said.append(f"{limit[in_operations]} operations/s")
    return " and ".join(said)
