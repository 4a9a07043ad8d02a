# SPDX-License-Identifier: GPL-2.0-only
"""files: open what is below /proc/PID, and below folders that others fill.

This is the only module that opens such a path. The owner of a process chooses what its
links name, and in a user namespace also what is mounted there. So no link is followed,
no device, FIFO or socket is opened, and a file of another user is refused.

Each part of a path is opened by O_PATH|O_NOFOLLOW from the descriptor of the part
before it; there is no part `..`, so the walk cannot leave its folder. openat2(2) with
RESOLVE_IN_ROOT|RESOLVE_NO_SYMLINKS refuses the same paths, but needs Linux 5.6. O_PATH
opens the name alone (open(2)): the type is checked before a driver is called.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from stat import S_ISREG

PROC = Path("/proc")
# A file that the kernel makes whole in one read(2): comm, stat, status, stack, ...
ONE_READ_BYTES = 16 << 10
PERF_MAP_BYTES = 16 << 20
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
# Not O_RDONLY alone: a lease or a FIFO would keep the open waiting.
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
GONE = (FileNotFoundError, ProcessLookupError)
# Fields of proc_pid_stat(5) behind the name, counted from the state.
STATE, PARENT, FLAGS, UTIME, STIME, THREADS, STARTED, RSS = 0, 1, 6, 11, 12, 17, 19, 21
PF_KTHREAD = 0x00200000  # of FLAGS: include/linux/sched.h


@dataclass(frozen=True, slots=True)
class Process:
    """A process by a descriptor of its /proc/PID.

    Its number may come to be another's: below this descriptor nothing is found then.
    """

    pid: int
    home: int

    def mapped(self, start: int, end: int) -> int:
        """A descriptor of the file that is mapped there; the caller closes it."""
        place = f"map_files/{start:x}-{end:x}"
        with _closed(os.open(place, os.O_PATH, dir_fd=self.home)) as found:
            return _regular(found, f"a file of process {self.pid}")

    def perf_map(self) -> int:
        """A descriptor of its /tmp/perf-PID.map; the caller closes it.

        It must be its user's. A file of root's is refused like any other: a user
        namespace suffices to mount one there that its user may not read.
        """
        status = _read("status", self.home).decode(errors="replace")
        inner = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
        user = re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE)
        if not user:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        name = f"tmp/perf-{inner[1] if inner else self.pid}.map"
        its_root = os.open("root", os.O_PATH | os.O_DIRECTORY, dir_fd=self.home)
        with _closed(its_root) as root:
            return _below(root, name, int(user[1]), PERF_MAP_BYTES)


@contextmanager
def process(pid: int, proc: Path = PROC) -> Iterator[Process]:
    """A process that is there. Raises OSError, one of GONE if it has ended."""
    with _closed(os.open(proc / str(pid), FOLDER)) as home:
        yield Process(pid, home)


def below(folder: Path, name: str, most_bytes: int) -> bytes:
    """The content of a file of root's below a folder of root's. Raises OSError."""
    with (
        _closed(os.open(folder, os.O_PATH | os.O_DIRECTORY)) as top,
        _closed(_below(top, name, os.fstat(top).st_uid, most_bytes)) as file,
    ):
        return os.pread(file, most_bytes, 0)


def of_host(path: Path) -> int:
    """A descriptor of a file in a folder of root's, whose links are root's, too."""
    with _closed(os.open(path, os.O_PATH)) as found:
        return _regular(found, str(path))


def text(pid: int | str, name: str, proc: Path | str = PROC) -> str | None:
    """What the kernel says of a process, without blanks around it; None: it is gone.

    At most ONE_READ_BYTES, in one read(2).
    """
    found = raw(f"{proc}/{pid}/{name}")
    return found.decode(errors="surrogateescape").strip() if found else None


def stat(task: int | str, proc: Path | str = PROC) -> tuple[str, list[bytes]]:
    """The name of a process, or of a task `PID/task/TID`, and the fields behind it;
    none for one that is gone."""
    before, _, after = raw(f"{proc}/{task}/stat").rpartition(b")")
    return before.partition(b"(")[2].decode(errors="replace"), after.split()


def raw(path: str) -> bytes:
    """A small file below /proc/PID; empty for one of a task that is gone."""
    try:
        return _read(path)
    except OSError:
        return b""


def lines(
    pid: int | str, name: str, most_bytes: int, proc: Path = PROC
) -> Iterator[str]:
    """The lines of what the kernel says of a process, up to so many bytes of them."""
    with suppress(OSError):
        opened = os.open(proc / str(pid) / name, READ | os.O_NOFOLLOW)
        with os.fdopen(opened, errors="surrogateescape", newline="\n") as file:
            while line := file.readline(most_bytes + 1):
                most_bytes -= len(line)
                if most_bytes < 0:
                    return
                yield line.rstrip("\n")


def entries(folder: str) -> list[str]:
    """The names in a folder of /proc; none for a task that is gone."""
    try:
        with os.scandir(folder) as found:
            return [entry.name for entry in found]
    except OSError:
        return []


def link(pid: int, name: str, proc: Path | str = PROC) -> str | None:
    """The path that a link below /proc/PID names; what it names is not opened."""
    try:
        return str(Path(f"{proc}/{pid}/{name}").readlink())
    except OSError:
        return None


def is_there(pid: int) -> bool:
    """Whether there is such a process, or a zombie of it."""
    return (PROC / str(pid)).exists()


def _read(path: str, folder: int | None = None) -> bytes:
    with _closed(os.open(path, READ | os.O_NOFOLLOW, dir_fd=folder)) as file:
        return os.read(file, ONE_READ_BYTES)


def _below(top: int, name: str, owner: int, most_bytes: int) -> int:
    """A descriptor of a regular file of that owner below a folder."""
    *folders, last = PurePath(name).parts
    if PurePath(name).is_absolute() or ".." in folders or last == "..":
        raise OSError(errno.EINVAL, "not a path below a folder", name)
    at = os.dup(top)
    try:
        for part in folders:
            inner = os.open(part, FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        with _closed(os.open(last, os.O_PATH | os.O_NOFOLLOW, dir_fd=at)) as found:
            _check_owner(found, name, owner, most_bytes)
            return _regular(found, name)
    finally:
        os.close(at)


def _check_owner(found: int, name: str, owner: int, most_bytes: int) -> None:
    status = os.fstat(found)
    if status.st_uid != owner:
        why = f"its owner is user {status.st_uid}, not {owner}"
    elif S_ISREG(status.st_mode) and status.st_nlink > 1:
        why = "it has another name, a hard link"
    elif status.st_size > most_bytes:
        why = f"it has more than {most_bytes >> 10} KiB"
    else:
        return
    raise OSError(errno.EPERM, why, name)


def _regular(found: int, name: str) -> int:
    """Open what an O_PATH descriptor names, if that is a regular file."""
    if not S_ISREG(os.fstat(found).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", name)
    return os.open(f"/proc/self/fd/{found}", READ)


@contextmanager
def _closed(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
