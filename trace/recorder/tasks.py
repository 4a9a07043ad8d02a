# SPDX-License-Identifier: GPL-2.0-only
"""tasks: note the processes whose calls stalled, while they are there.

What is known of a process is gone when it ends, so a thread reads the events as they
come. Its reads may wait for the disk that stalls: nothing else waits for this thread.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from foreign import files, maps
from foreign.files import Process
from foreign.maps import Mapping
from foreign.reader import Reader, UnreadError
from recorder import cgroups, runtimes
from recorder.files import PART, ROOT, copy_whole, size_of
from writestall.common.containers import container_of

PERIOD_S = 1.0
PATIENCE_S = 5.0  # for what the thread is at when the recording ends
MOST_TASKS, MOST_CHILDREN_BYTES = 1000, 1 << 20
OF_A_CALL, OF_A_CGROUP = b'"ev":"write"', b'"ev":"cgroup"'
MOST_FILES = 10_000  # whose build ids are read
SYMBOLS = "symbols"


def executed(pid: int, root: Path = ROOT) -> dict[str, Mapping]:
    """The files that a task maps to execute: their paths, and a mapping of each.

    /proc/PID/map_files leads to it from another mount namespace, and when the file was
    deleted (proc(5)).
    """
    return {
        row.path.removesuffix(" (deleted)"): row
        for row in maps.read(pid, root / "proc")
        if row.inode and row.path.startswith("/")
    }


class BuildIds:
    """The build ids of such files by path; None where a file has none.

    By a file's build id its symbols are found on another machine. `unread` takes a file
    that could not be read, and why.
    """

    def __init__(self, unread: Callable[[str, str], None]) -> None:
        self.found: dict[str, str | None] = {}
        self._reader, self._unread = Reader(), unread

    def note(self, pid: int, root: Path = ROOT) -> None:
        """Read those of the files that a task executes; it may have ended."""
        new = {
            path: row
            for path, row in executed(pid, root).items()
            if path not in self.found and len(self.found) < MOST_FILES
        }
        if not new:
            return
        with suppress(*files.GONE), files.process(pid, root / "proc") as process:
            for path, row in new.items():
                self.found[path] = self._read(process, path, row)

    def close(self) -> None:
        self._reader.close()

    def _read(self, process: Process, path: str, row: Mapping) -> str | None:
        try:
            file = process.mapped(row.start, row.end)
            try:
                return self._reader.build_id(file) or None
            finally:
                os.close(file)
        except files.GONE:
            return None
        except (UnreadError, OSError) as error:
            self._unread(path, getattr(error, "strerror", None) or str(error))
            return None


class Tasks(threading.Thread):
    """The processes of the events, and the files that they execute.

    folder      of the run, with events/ and symbols/
    most_bytes  that the folder may have with the maps of JITs; None: no bound
    unread      takes each file that could not be read, and why
    """

    def __init__(
        self,
        folder: Path,
        chosen: Iterable[int],
        root: Path = ROOT,
        most_bytes: int | None = None,
        unread: Callable[[str, str], None] = lambda what, why: None,
    ) -> None:
        super().__init__(name="tasks", daemon=True)
        self._folder, self._root, self._most_bytes = folder, root, most_bytes
        self._chosen = list(chosen)
        self._limits = cgroups.Limits(root)
        self._read: dict[Path, int] = {}  # how much of each file of events
        self._ending, self._given_up = threading.Event(), threading.Event()
        self._found: dict[int, dict[str, Any]] = {}
        self._containers: dict[str, dict[str, str]] = {}
        self._unread = unread
        self._build_ids = BuildIds(unread)

    def run(self) -> None:
        for pid in self._chosen:
            self._note(pid)
        while not self._ending.wait(PERIOD_S):
            self._follow()
        self._follow()
        self._save()
        self._build_ids.close()

    def end(self) -> list[dict[str, Any]]:
        """Read the last events; return the manifest's `tasks`."""
        self._ending.set()
        self.join(PATIENCE_S)
        self._given_up.set()
        for part in (self._folder / SYMBOLS).glob(f"*{PART}"):
            part.unlink(missing_ok=True)
        return self.found()

    def found(self) -> list[dict[str, Any]]:
        """Those that are known so far."""
        return list(self._found.copy().values())

    def containers(self) -> list[dict[str, str]]:
        """The manifest's `containers`: of all cgroups of the events, by path."""
        found = self._containers.copy()
        return [{"path": path} | container for path, container in found.items()]

    def _follow(self) -> None:
        for path in sorted((self._folder / "events").glob("*.jsonl")):
            for line in self._new_lines(path):
                self.hear(line)

    def hear(self, line: bytes) -> None:
        """Note the process of a call, and the container of a cgroup."""
        is_call = OF_A_CALL in line
        if not is_call and OF_A_CGROUP not in line:
            return
        with suppress(ValueError, AttributeError):
            event = json.loads(line)
            if is_call:
                self._note_caller(event.get("pid"))
            else:
                self._note_cgroup(event.get("path"))

    def _new_lines(self, path: Path) -> list[bytes]:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            grown = file.read()
        whole = grown[: grown.rfind(b"\n") + 1]
        self._read[path] = self._read.get(path, 0) + len(whole)
        return whole.splitlines()

    def _note_caller(self, pid: object) -> None:
        if isinstance(pid, int) and len(self._found) < MOST_TASKS:
            self._note(pid)

    def _note_cgroup(self, path: object) -> None:
        if not isinstance(path, str) or len(self._containers) >= MOST_TASKS:
            return
        if container := self._container([path]):
            self._containers[path] = container

    def _note(self, pid: int) -> None:
        proc = self._root / "proc"
        comm = files.text(pid, "comm", proc)
        if comm is None or self._found.get(pid, {}).get("comm") == comm:
            return  # it has ended, or is known by the name that it still has
        paths = self._limits.paths(pid)
        own, exe = paths.get("", ""), files.link(pid, "exe", proc)
        version_1 = {name: path for name, path in paths.items() if name in cgroups.V1}
        self._found[pid] = {
            "pid": pid,
            "comm": comm,
            "exe": exe and exe.removesuffix(" (deleted)"),
            "cgroup": own,
            "cgroup_v1": version_1,
            "container": self._container((own, *version_1.values())),
            "limits": self._limits.of(paths),
        }
        self._build_ids.note(pid, self._root)

    def _container(self, paths: Iterable[str]) -> dict[str, str] | None:
        """The first that a path names."""
        for path in paths:
            if found := container_of(path):
                return asdict(runtimes.named(found, self._root))
        return None

    def _save(self) -> None:
        """Write symbols/: the build ids, and the maps of code that a JIT made."""
        folder = self._folder / SYMBOLS
        folder.mkdir(exist_ok=True)
        rows = [
            {"path": path, "build_id": found}
            for path, found in self._build_ids.found.items()
        ]
        (folder / "files.json").write_text(json.dumps(rows, indent=2) + "\n")
        for pid in self._found:
            self._save_map(pid)

    def _save_map(self, pid: int) -> None:
        """Copy the map of a process' JIT, if it fits in what is left."""
        folder, most_bytes = self._folder, files.PERF_MAP_BYTES
        if self._most_bytes is not None:
            most_bytes = min(most_bytes, self._most_bytes - size_of(folder))
        if self._given_up.is_set():
            return
        try:
            with files.process(pid, self._root / "proc") as process:
                source = process.perf_map()
            try:
                copy_whole(source, folder / SYMBOLS / f"perf-{pid}.map", most_bytes)
            finally:
                os.close(source)
        except files.GONE:
            return
        except OSError as error:
            self._unread(f"the perf map of process {pid}", str(error.strerror))


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:  # which grows meanwhile
        for tid in files.entries(f"{files.PROC}/{one}/task"):
            for line in files.lines(one, f"task/{tid}/children", MOST_CHILDREN_BYTES):
                found += map(int, line.split())
    return found


def of_name(comm: str) -> list[int]:
    """The processes of that name."""
    pids = [int(name) for name in files.entries(str(files.PROC)) if name.isdigit()]
    return [p for p in pids if p != os.getpid() and files.text(p, "comm") == comm]
