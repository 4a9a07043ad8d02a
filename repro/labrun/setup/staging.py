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


class Copying(threading.Thread):
    """Appends new data of the files in `source` to those in `into` every PERIOD_S,
    until it is stopped or fails."""

    def __init__(self, source: Path, into: Path) -> None:
        super().__init__(name="copier", daemon=True)
        self._from, self._into = source, into
        self._copied: dict[Path, int] = {}
        self._stopping = threading.Event()
        self._failure: OSError | None = None

    def check(self, most_bytes: int) -> None:
        """Raise StepError if copying failed, or there is more than may be."""
        if self._failure:
            raise StepError(describe(self._failure))
        if sum(self._copied.copy().values()) > most_bytes:
            raise StepError(f"the events have reached {most_bytes >> 20} MiB")

    def run(self) -> None:
        while not self._stopping.wait(PERIOD_S):
            try:
                self._copy(whole_lines=True)
            except OSError as error:
                self._failure = error
                return  # the last copy fails again, and reports it

    def finish(self) -> None:
        """End the thread and copy the rest; on failure, keep the files in memory."""
        self._stopping.set()
        self.join()
        try:
            self._copy(whole_lines=False)
        except OSError as error:
            where = f"the files are in {self._from}"
            raise StepError(f"{describe(error)}; {where}") from None
        shutil.rmtree(self._from)

    def _copy(self, whole_lines: bool) -> None:
        """Update `into`; with `whole_lines`, without a partial last line."""
        for path in sorted(self._from.rglob("*")):
            name = path.relative_to(self._from)
            if path.is_dir():
                (self._into / name).mkdir(exist_ok=True)
                continue
            with path.open("rb") as file:
                file.seek(self._copied.get(name, 0))
                grown = file.read()
            if whole_lines:
                grown = grown[: grown.rfind(b"\n") + 1]
            if grown or name not in self._copied:
                with (self._into / name).open("ab") as file:
                    file.write(grown)
                self._copied[name] = self._copied.get(name, 0) + len(grown)


@contextmanager
def staged(run: Run) -> Iterator[Copying]:
    """Write everything but the manifest and the symbols to memory."""
    run.folder = Path(tempfile.mkdtemp(prefix="writestall-run-", dir=MEMORY))
    copying = Copying(run.folder, run.out)
    copying.start()
    try:
        yield copying
    finally:
        with run.undo("collect", str(run.out)):
            copying.finish()
