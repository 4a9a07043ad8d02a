# SPDX-License-Identifier: GPL-2.0-only
"""staging: copy the growing files of a run from memory to the run directory.

Writing to a share or a busy disk sleeps, uninterruptibly: a tracer whose own
output goes there traces itself, prints that, and so on. So everybody writes to
memory, and one thread carries whole lines over once in a while: a machine that
is lost leaves all but the last moment.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labrun.errors import StepError
from labrun.steps import Run, describe

MEMORY = Path("/dev/shm")
PERIOD_S = 1.0


class Carrier:
    """Appends to `target` what the files below `source` have grown by."""

    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        self._carried: dict[Path, int] = {}

    def carry(self, whole_lines: bool) -> None:
        """Bring `target` up to date; with `whole_lines` without a torn last one."""
        for path in sorted(self._source.rglob("*")):
            name = path.relative_to(self._source)
            if path.is_dir():
                (self._target / name).mkdir(exist_ok=True)
                continue
            with path.open("rb") as file:
                file.seek(self._carried.get(name, 0))
                grown = file.read()
            if whole_lines:
                grown = grown[: grown.rfind(b"\n") + 1]
            if grown or name not in self._carried:
                with (self._target / name).open("ab") as file:
                    file.write(grown)
                self._carried[name] = self._carried.get(name, 0) + len(grown)


class _Thread(threading.Thread):
    """Carries every PERIOD_S until it is stopped or cannot."""

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(name="carrier", daemon=True)
        self._carrier = carrier
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(PERIOD_S):
            try:
                self._carrier.carry(whole_lines=True)
            except OSError:
                return  # the last carrying meets it again, and tells

    def stop(self) -> None:
        """No carrying is under way once this returns."""
        self._stopping.set()
        self.join()


@contextmanager
def staged(run: Run) -> Iterator[None]:
    """Let everything but the manifest and the symbols be written to memory."""
    run.folder = Path(tempfile.mkdtemp(prefix="writestall-run-", dir=MEMORY))
    carrier = Carrier(run.folder, run.out)
    thread = _Thread(carrier)
    thread.start()
    try:
        yield
    finally:
        with run.undo("collect", str(run.out)):
            thread.stop()
            _carry_rest(carrier, run.folder)


def _carry_rest(carrier: Carrier, source: Path) -> None:
    """The last carrying; what could not be carried stays where it is."""
    try:
        carrier.carry(whole_lines=False)
    except OSError as error:
        raise StepError(f"{describe(error)}; the files are in {source}") from None
    shutil.rmtree(source)
