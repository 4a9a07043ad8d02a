# SPDX-License-Identifier: GPL-2.0-only
"""cgroups: resolve the ids of events to paths of cgroups, and name these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import UNSET, UnsetType

from writestall.common.containers import Container, container_of
from writestall.events.contract import Block
from writestall.events.run_directory import RunDir
from writestall_base.units import printable

ROOT = "/"
# How people call a cgroup, by its path.
Naming = Callable[[str], str]


class Cgroups:
    """The cgroups of a stream; a path, or `id N` of one that was gone too soon."""

    def __init__(self, paths: Mapping[tuple[int, int], str]) -> None:
        self._paths = paths
        self._threads: dict[int, str | UnsetType] = {}

    def note(self, shapes: Iterable[Block]) -> None:
        """Learn the cgroups of threads, for events that name a thread alone."""
        for shape in shapes:
            self._threads[shape.tid] = self.of(shape.cgroup, shape.cgroup_v1)

    def of_thread(self, tid: int) -> str | UnsetType:
        """The cgroup of a thread that slept at some time."""
        return self._threads.get(tid, UNSET)

    def of(self, v2: int | None, v1: int | None) -> str | UnsetType:
        """The cgroup of a task or bio by its ids; that of version 2 where both are set
        one that is not the root.
        """
        paths = [self._path(2, v2), self._path(1, v1)]
        known = [path for path in paths if path is not None]
        return next(
            (path for path in known if path != ROOT), known[0] if known else UNSET
        )

    def _path(self, version: int, id: int | None) -> str | None:
        return None if id is None else self._paths.get((version, id), f"id {id}")


def labels_of(run: RunDir) -> Naming:
    """How people name the cgroups of a run: by the names of containers and pods that
    `record` found in the runtimes' files, else by their paths.
    """
    known = dict(filter(None, map(_named, run.get("containers") or ())))
    return lambda path: known.get(path) or label(path)


def _named(row: object) -> tuple[str, str] | None:
    """A row of the manifest's `containers`: a path, and its label; None for none."""
    if not isinstance(row, dict):
        return None
    parts = {key: str(row.get(key, "")) for key in ("runtime", "id", "pod", "name")}
    shown = printable(str(Container(**parts)))
    return (row["path"], shown) if shown and "path" in row else None


def label(path: str) -> str:
    """The name in a path: its container and pod, its unit, else itself."""
    if not path:
        return "a cgroup"
    container = container_of(path)
    if container:
        return str(container)
    return f"cgroup {path.rstrip('/').rpartition('/')[2] or path}"


def crosses(path: str | UnsetType, other: str | UnsetType) -> bool:
    """Whether a cgroup is worth a word beside another one: kernel threads are in the
    root, which says nothing.
    """
    return path is not UNSET and path != ROOT and path != other
