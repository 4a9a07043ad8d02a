# SPDX-License-Identifier: GPL-2.0-only
"""binaries: read the build ids of the files that a task executes.

With a file's build id its symbols are found on another machine: its package, or a
server of debug information, has them by that id.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from foreign import files, maps
from foreign.files import Process
from foreign.maps import Mapping
from foreign.reader import Reader, UnreadError
from recorder.files import ROOT

MOST_FILES = 10_000


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

    unread  takes a file that could not be read, and why
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
        """End the reader."""
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
