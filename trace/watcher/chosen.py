# SPDX-License-Identifier: GPL-2.0-only
"""chosen: tell whether a call that sleeps is one of those that were asked for.

The tracer chooses by the same options; this is for calls that no event tells of yet.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from foreign import files
from launcher.options import device_number
from recorder.filesystems import mount_of

MOST_ABOVE = 64  # processes from one to the first


@dataclass(frozen=True)
class Chosen:
    """What was asked for; None where that does not matter."""

    pid: int | None = None
    comm: str | None = None
    path: str | None = None
    dev: str | None = None

    @staticmethod
    def by(options: argparse.Namespace) -> Chosen:
        """The choice of the options; raises TraceError for a device there is not."""
        path = str(options.path.resolve()) if options.path else None
        dev = None
        if options.device is not None:
            number = device_number(options.device)
            dev = f"{number >> 20}:{number & 0xFFFFF}"
        return Chosen(options.pid, options.comm, path, dev)

    def __call__(self, pid: int, comm: str, file: str | None) -> bool:
        """Whether a call is chosen; not without a known file, where that counts."""
        if pid == os.getpid():
            return False
        if self.pid is not None and not self._below(pid):
            return False
        if self.comm is not None and self.comm not in (comm, _name(pid)):
            return False
        if self.path is not None and not self._inside(file):
            return False
        return self.dev is None or self._on_device(file)

    def _below(self, pid: int) -> bool:
        """Whether a process is the chosen one or was started by it."""
        for _ in range(MOST_ABOVE):
            if pid == self.pid or pid <= 1:
                break
            stat = files.text(pid, "stat") or ""
            fields = stat.rpartition(")")[2].split()
            pid = int(fields[1]) if len(fields) > 1 else 0
        return pid == self.pid

    def _inside(self, file: str | None) -> bool:
        return file is not None and (
            file == self.path or file.startswith(f"{self.path}/")
        )

    def _on_device(self, file: str | None) -> bool:
        mount = mount_of(Path(file)) if file and file.startswith("/") else None
        return mount is not None and mount.dev == self.dev


def _name(pid: int) -> str | None:
    return files.text(pid, "comm")
