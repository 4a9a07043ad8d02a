# SPDX-License-Identifier: GPL-2.0-only
"""presence: be the only watch of a host, be found, and tell that it makes progress.

The file has the process id, and is locked while the process lives; the time of its last
change says until when it watched, if it was killed. systemd gets a datagram to
$NOTIFY_SOCKET instead: sd_notify(3). Without that variable there is nobody to tell.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from recorder.run_folder import check_kept
from recorder.targets import unfit
from writestall_base.errors import UserError

NAME = "watch.pid"
RUN = Path("/run/writestall")
DUMP = "dump"  # the name of the thread that writes a run directory (dump.py)
# A dump that takes longer makes no progress.
DUMPED_WITHIN_S = 120.0
# How often a watchdog hears of progress within its time.
BEATS = 4
NONE = "no watch runs here: start one with sudo ./writestall watch"


class Presence:
    """The file of a running watch, in a folder of memory.

    `killed` says since when the last one is gone that was killed, None if it ended in
    order.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o755)
            check_kept("--run-dir", folder)
            self._file = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644
            )
        except OSError as error:
            raise unfit("--run-dir", folder, error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another watch runs, process {_pid(self._path)}: end it, or give this"
                " one another --run-dir"
            ) from None
        last = os.fstat(self._file)
        self.killed = _killed(last.st_mtime) if last.st_size else None
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def beat(self) -> None:
        """Leave word that it watches still, for the next one and a liveness probe."""
        os.utime(self._file)

    def leave(self) -> None:
        """End in order."""
        os.ftruncate(self._file, 0)
        self._path.unlink(missing_ok=True)
        os.close(self._file)


class Service:
    """What systemd is told of this process, and no child of it."""

    def __init__(self) -> None:
        self._place = os.environ.pop("NOTIFY_SOCKET", "")
        within_us = int(os.environ.pop("WATCHDOG_USEC", 0))
        self._every_s = within_us / 1e6 / BEATS
        self._beat_s = 0.0
        self._dumping: dict[threading.Thread, float] = {}

    def ready(self) -> None:
        """The tracer is armed."""
        self._tell(b"READY=1")

    def keep_alive(self) -> bool:
        """Notify systemd's watchdog; False while a dump makes no progress."""
        now_s = time.monotonic()
        dumping = [each for each in threading.enumerate() if each.name == DUMP]
        self._dumping = {each: self._dumping.get(each, now_s) for each in dumping}
        stuck = any(now_s - at_s > DUMPED_WITHIN_S for at_s in self._dumping.values())
        if self._every_s and now_s - self._beat_s >= self._every_s and not stuck:
            self._beat_s = now_s
            self._tell(b"WATCHDOG=1")
        return not stuck

    def _tell(self, text: bytes) -> None:
        if not self._place:
            return
        # An abstract address begins with a zero byte, written @: unix(7).
        address = f"\0{self._place[1:]}" if self._place[0] == "@" else self._place
        with (
            suppress(OSError),  # a manager that cannot hear decides itself
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to,
        ):
            to.sendto(text, address)


def ask_for_a_dump(folder: Path) -> int:
    """Tell the running watch to write a run directory; return its process id."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = _pid(path)
                os.kill(pid, signal.SIGUSR1)
                return pid
    except (OSError, ValueError):
        pass
    raise UserError(NONE)


def _killed(last_s: float) -> str:
    """How long ago a watch was seen last, whose time of day that was."""
    ago_s = time.time() - last_s
    if ago_s < 0:
        return "was killed before the clock was set back"
    return f"was killed {ago_s:.0f} s ago"


def _pid(path: Path) -> int:
    return int(path.read_text())
