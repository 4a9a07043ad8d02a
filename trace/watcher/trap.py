# SPDX-License-Identifier: GPL-2.0-only
"""trap: decide when the last events become a run directory, and how many may be.

A thread writes it (dump.py). At most so many are written within a day, and the folder
never takes more than its share of the disk: the oldest make room.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recorder.files import ROOT, matched, size_of

STALL, OPEN, PRESSURE, ASKED = "stall", "open", "pressure", "asked"
NAME = re.compile(r"\d{8}-\d{6}-(stall|open|pressure|asked)")
TIME = "%Y%m%d-%H%M%S"
DAY_S = 24 * 3600
S = 10**9
# From the trigger to the dump: what ends with the stall, or goes on, is in it.
DELAY_NS = 3 * S
# A pressure that stays is one trigger; so are the stalls of one moment.
AGAIN_NS = 60 * S


def io_full_percent(root: Path = ROOT) -> float | None:
    """`full avg10` of Documentation/accounting/psi.rst; None where it is not kept."""
    found = matched(root / "proc/pressure/io", r"^full avg10=(\S+)")
    return float(found) if found else None


@dataclass(frozen=True)
class Bounds:
    """What triggers a dump (ns, percent), and how many there may be."""

    folder: Path
    stall_ns: int = 10 * S
    pressure_percent: float = 50.0
    a_day: int = 5
    bytes: int = 256 << 20


class Trap:
    """Receives triggers; calls `refused` with the reason where one is ignored."""

    def __init__(self, bounds: Bounds, refused: Callable[[str, str], None]) -> None:
        self.bounds = bounds
        self._refused = refused
        self._trigger: str | None = None
        self._due_ns = 0
        self._last_ns: dict[str, int] = {}
        self._written_s: list[float] = []

    def stalled(self, dur_ns: int, now_ns: int, trigger: str = STALL) -> None:
        """Hear of a stall, ended or not."""
        if dur_ns >= self.bounds.stall_ns:
            self.spring(trigger, now_ns)

    def pressed(self, percent: float | None, now_ns: int) -> None:
        """Hear of the pressure on I/O."""
        if percent is not None and percent >= self.bounds.pressure_percent:
            self.spring(PRESSURE, now_ns)

    def spring(self, trigger: str, now_ns: int) -> None:
        """A dump is wanted, unless one is due or was made for the same.

        One that is due becomes that of who asks: nothing that was asked for is lost.
        """
        last_ns = self._last_ns.get(trigger)
        again = last_ns is not None and now_ns - last_ns < AGAIN_NS
        if self._trigger and trigger == ASKED:
            self._trigger = ASKED
        if self._trigger or (again and trigger != ASKED):
            return
        self._last_ns[trigger] = now_ns
        # Any user's stalls use up a day's dumps; who asks is root (watch --dump).
        if trigger != ASKED and self._today() >= self.bounds.a_day:
            self._refused(trigger, f"{self.bounds.a_day} were written within a day")
            return
        self._trigger, self._due_ns = trigger, now_ns + DELAY_NS

    def due(self, now_ns: int, *, at_once: bool = False) -> str | None:
        """The trigger whose dump is to be written now; with that it is handled.

        at_once  do not wait for what ends with the stall
        """
        if self._trigger is None or (now_ns < self._due_ns and not at_once):
            return None
        trigger, self._trigger = self._trigger, None
        return trigger

    def room(self, size: int) -> int:
        """Make room for a dump of that size; return what it may take, 0: no room."""
        if size > self.bounds.bytes:
            return 0
        kept = dumps(self.bounds.folder)
        while kept and self._left() < size:
            shutil.rmtree(kept.pop(0), ignore_errors=True)
        left = min(self._left(), shutil.disk_usage(self.bounds.folder).free)
        return left if left >= size else 0

    def place(self, trigger: str) -> Path:
        """A new name for a dump, which counts from now on."""
        self._written_s.append(time.monotonic())
        return self.bounds.folder / f"{time.strftime(TIME)}-{trigger}"

    def _left(self) -> int:
        """What the dumps that are there leave of the bound."""
        kept = dumps(self.bounds.folder)
        return self.bounds.bytes - sum(map(size_of, kept))

    def _today(self) -> int:
        """Dumps of the last day: this process', or those that others left.

        Of the latter the time of day is known alone, and the clock may have been set
        since: those of the coming day are as recent as those of the last one.
        """
        since_s = time.monotonic() - DAY_S
        self._written_s = [at_s for at_s in self._written_s if at_s > since_s]
        left = [at.stat().st_mtime for at in dumps(self.bounds.folder)]
        return max(
            len(self._written_s), sum(abs(time.time() - at) < DAY_S for at in left)
        )


def dumps(folder: Path) -> list[Path]:
    """The dumps of a folder, the oldest first.

    Those with a time to come were written before the clock was set back.
    """
    now = time.strftime(TIME)
    try:
        return sorted(
            (path for path in folder.iterdir() if NAME.fullmatch(path.name)),
            key=lambda path: (path.name <= f"{now}~", path.name),
        )
    except OSError:
        return []
