# SPDX-License-Identifier: GPL-2.0-only
"""staging: copy the growing files of a run from memory to the run directory.

Writing to a share or a busy disk sleeps, uninterruptibly: a tracer that writes there
traces itself, prints that, and so on. So all programs write to memory, and one thread
copies whole lines every second: if the machine is lost, only the last second is.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from writestall_base.errors import StepError
from writestall_base.steps import Run, describe

MEMORY = Path("/dev/shm")
PERIOD_S = 1.0


class Copier:
    """Appends new data of the files in `source` to those in `target`."""

    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        self._copied: dict[Path, int] = {}

    def copy(self, whole_lines: bool) -> None:
        """Update `target`; with `whole_lines`, without a partial last line."""
        for path in sorted(self._source.rglob("*")):
            name = path.relative_to(self._source)
            if path.is_dir():
                (self._target / name).mkdir(exist_ok=True)
                continue
            with path.open("rb") as file:
                file.seek(self._copied.get(name, 0))
                grown = file.read()
            if whole_lines:
                grown = grown[: grown.rfind(b"\n") + 1]
            if grown or name not in self._copied:
                with (self._target / name).open("ab") as file:
                    file.write(grown)
                self._copied[name] = self._copied.get(name, 0) + len(grown)

    @property
    def size_bytes(self) -> int:
        """How much was copied so far."""
        return sum(self._copied.copy().values())


class Copying(threading.Thread):
    """Copies every PERIOD_S until it is stopped or fails."""

    def __init__(self, copier: Copier) -> None:
        super().__init__(name="copier", daemon=True)
        self._copier = copier
        self._stopping = threading.Event()
        self._failure: OSError | None = None

    def check(self, most_bytes: int) -> None:
        """Raise StepError if copying failed, or there is more than may be."""
        if self._failure:
            raise StepError(describe(self._failure))
        if self._copier.size_bytes > most_bytes:
            raise StepError(f"the events have reached {most_bytes >> 20} MiB")

    def run(self) -> None:
        while not self._stopping.wait(PERIOD_S):
            try:
                self._copier.copy(whole_lines=True)
            except OSError as error:
                self._failure = error
                return  # the last copy fails again, and reports it

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping.set()
        self.join()


@contextmanager
def staged(run: Run) -> Iterator[Copying]:
    """Write everything but the manifest and the symbols to memory."""
    run.folder = Path(tempfile.mkdtemp(prefix="writestall-run-", dir=MEMORY))
    copier = Copier(run.folder, run.out)
    thread = Copying(copier)
    thread.start()
    try:
        yield thread
    finally:
        with run.undo("collect", str(run.out)):
            thread.stop()
            _copy_rest(copier, run.folder)


def _copy_rest(copier: Copier, source: Path) -> None:
    """Copy the rest; on failure, keep the files in memory."""
    try:
        copier.copy(whole_lines=False)
    except OSError as error:
        raise StepError(f"{describe(error)}; the files are in {source}") from None
    shutil.rmtree(source)
