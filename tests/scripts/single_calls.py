# SPDX-License-Identifier: GPL-2.0-only
"""single_calls: make the calls of docs/calls.toml by number, each in a folder.

That is lab/CALL; a file `old` and a folder `sub` are in it, `new` is not. Numbers
and constants are those of x86-64 (include/uapi/linux/fcntl.h, fs.h, xattr.h).
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import struct
import tomllib
from collections.abc import Callable
from dataclasses import dataclass

import asynchronous as aio

import lab

TABLE = tomllib.loads((lab.PROJECT / "docs/calls.toml").read_text())
NUMBERS = {name: row["nr"] for name, row in TABLE["system_calls"].items()}
AT_FDCWD = -100
WRONLY_CREAT = os.O_WRONLY | os.O_CREAT
BYTES = 200
OFFSET = 4096
PAGES = 4
LENGTH = PAGES * lab.PAGE
ATTRIBUTE, VALUE = b"user.w", b"v"
SYNCED_BEFORE = 100
READ_AS_PROGRAMS_ARE = {"flags": mmap.MAP_PRIVATE, "prot": mmap.PROT_READ}
SYNC_WAIT = 7  # SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE, _WAIT_AFTER
MS_SYNC = 4
FS_IOC_SETFLAGS = 0x40086602
NOATIME_FLAG, EXTENTS_FLAG = 0x80, 0x80000


class Scene:
    """The folder of a call, open files in it, and buffers."""

    def __init__(self, label: str) -> None:
        self.path = lab.MOUNT / label
        self.new, self.old, self.sub = (
            bytes(self.path / name) for name in ("new", "old", "sub")
        )
        self.buffer = ctypes.create_string_buffer(lab.PAGE)
        self.fd = self.folder = self.pipe = -1
        self.map: mmap.mmap | None = None
        self.library = self.unmapped = -1
        self._opened: list[int] = []
        self._parts = (ctypes.c_ulong * 2)()

    def make(self) -> None:
        """Make what is in the folder."""
        self.path.mkdir()
        lab.unread(f"{self.path.name}/old", PAGES)
        (self.path / "sub").mkdir()
        os.setxattr(self.old, "user.there", VALUE)
        os.sync()

    def open_folder(self) -> None:
        """Open the folder, which does not read it."""
        self.folder = os.open(self.path, os.O_RDONLY)
        self._opened = [self.folder]

    def open(self) -> None:
        """Open what is in the folder, and a pipe that a page fits in."""
        self.open_folder()
        self.fd = os.open(self.old, os.O_RDWR)
        self.map = mmap.mmap(self.fd, LENGTH)
        self.library = os.open(os.__file__, os.O_RDONLY)
        reader, self.pipe = os.pipe()
        self.unmapped = os.open("/dev/shm", os.O_RDWR | os.O_TMPFILE)
        self._opened += [self.fd, reader, self.pipe, self.library, self.unmapped]

    def close(self) -> None:
        """Close what was opened."""
        if self.map:
            self.map.close()
        for fd in self._opened:
            os.close(fd)

    def parts(self) -> object:
        """struct iovec[2] over BYTES of the buffer."""
        at = aio.address(self.buffer)
        return (ctypes.c_ulong * 4)(at, 50, at + 50, BYTES - 50)

    def socket(self) -> int:
        """A socket of AF_UNIX without a name."""
        self._opened.append(socket.socket(socket.AF_UNIX).detach())
        return self._opened[-1]

    def pair(self) -> int:
        """A connected socket with BYTES to be read."""
        reader, writer = socket.socketpair()
        writer.send(b"z" * BYTES)
        self._opened += [reader.detach(), writer.detach()]
        return self._opened[-2]

    def message(self) -> object:
        """struct mmsghdr, which begins with a struct msghdr, of BYTES where the file is
        mapped (linux/socket.h)."""
        self._parts[0], self._parts[1] = self.mapped().value or 0, BYTES
        return (ctypes.c_ulong * 8)(0, 0, aio.address(self._parts), 1, 0, 0, 0, 0)

    def mapped(self) -> ctypes.c_void_p:
        """Where the file is mapped."""
        assert self.map
        there = ctypes.c_void_p(aio.address(ctypes.c_char.from_buffer(self.map)))
        self.litter()
        return there

    def mapped_last(self) -> object:
        """Where the old file is mapped, and open no more; Python's mmap opens it."""
        fd = self.opened()
        arguments = (mmap.PROT_READ, mmap.MAP_SHARED, fd, None)
        there = aio.LIBC.mmap(None, at(LENGTH), *arguments)
        os.close(fd)
        return ctypes.c_void_p(there)

    def left_open(self) -> int:
        """A status to exit with, while the old file is open."""
        self.opened()
        return 0

    def opened(self) -> int:
        """The old file, as nobody else has opened it."""
        opened = os.open(self.old, os.O_RDWR | os.O_NOATIME)
        self.litter()
        return opened

    def litter(self) -> None:
        """Sync a file that is not mapped, and read one that is mapped as libraries are;
        the next call of a library faults, too. Their addresses stay on the kernel
        stack, at places that chance chooses."""
        for _ in range(SYNCED_BEFORE):
            os.fsync(self.unmapped)
        os.posix_fadvise(self.library, 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(self.library, lab.PAGE, **READ_AS_PROGRAMS_ARE) as library:
            library[0]


Arguments = Callable[[Scene], tuple[object, ...]]


@dataclass(frozen=True)
class Case:
    """How a call is made, what it sleeps for, and what an event must say.

    `needs`  commit: a metadata block that is being committed; emptied: the same, of a
    file that was truncated and written; data: dirty pages of its own; cold: pages that
    are not in memory; mount: anything, after a new mount
    `name`   the last part of its path; None: it has none
    """

    arguments: Arguments
    needs: str = "commit"
    name: str | None = "new"
    fd: str | None = None
    offset: int | None = None
    bytes: int | None = None
    since: tuple[int, int] = (0, 0)
    fails: int = 0  # with this errno


def at(number: int) -> object:
    return ctypes.c_long(number)


def old(
    arguments: Arguments, needs: str = "commit", since: tuple[int, int] = (0, 0)
) -> Case:
    """A call on the path of the old file."""
    return Case(arguments, needs, "old", since=since)


def on_fd(arguments: Arguments, needs: str, offset: int | None = None) -> Case:
    """A call on the descriptor of the old file that has no size."""
    return Case(arguments, needs, "old", "fd", offset)


def moves(
    arguments: Arguments,
    needs: str,
    offset: int | None = None,
    since: tuple[int, int] = (0, 0),
) -> Case:
    """One that reads or writes BYTES of it."""
    return Case(arguments, needs, "old", "fd", offset, BYTES, since)


def releases(arguments: Arguments, since: tuple[int, int] = (0, 0)) -> Case:
    """One that takes the last reference of an open file."""
    return Case(arguments, "emptied", "old", since=since)


def at_page(number: int) -> object:
    """A pointer to an offset, which the kernel reads and writes."""
    return (ctypes.c_long * 1)(number * lab.PAGE)


TIMES = (ctypes.c_long * 4)(1, 0, 1, 0)
HOW = ctypes.create_string_buffer(struct.pack("QQQ", WRONLY_CREAT, 0o644, 0), 24)
FLAGS = (ctypes.c_int * 1)(EXTENTS_FLAG | NOATIME_FLAG)

UNIX_BYTES = 110


def unix(path: bytes) -> object:
    """struct sockaddr_un of a path (linux/un.h)."""
    address = struct.pack(f"H{UNIX_BYTES - 2}s", socket.AF_UNIX, path)
    return ctypes.create_string_buffer(address, UNIX_BYTES)


CASES: dict[str, Case] = {
    "write": moves(lambda s: (s.fd, s.buffer, at(BYTES)), "commit", 0),
    "pwrite64": moves(
        lambda s: (s.fd, s.buffer, at(BYTES), at(OFFSET)), "commit", OFFSET
    ),
    "writev": moves(lambda s: (s.fd, s.parts(), 2), "commit", 0),
    "pwritev": moves(lambda s: (s.fd, s.parts(), 2, at(OFFSET), 0), "commit", OFFSET),
    "pwritev2": moves(
        lambda s: (s.fd, s.parts(), 2, at(OFFSET), 0, 0), "commit", OFFSET, (4, 6)
    ),
    "copy_file_range": moves(
        lambda s: (s.fd, None, s.fd, at_page(2), at(BYTES), 0), "cold", since=(4, 5)
    ),
    "sendfile": moves(lambda s: (s.pipe, s.fd, None, at(BYTES)), "cold"),
    "splice": moves(lambda s: (s.fd, None, s.pipe, None, at(BYTES), 0), "cold"),
    "fallocate": Case(
        lambda s: (s.fd, 0, at(OFFSET * 8), at(BYTES)),
        "commit",
        "old",
        "fd",
        OFFSET * 8,
        BYTES,
    ),
    "ftruncate": on_fd(lambda s: (s.fd, at(OFFSET)), "commit", OFFSET),
    "truncate": Case(lambda s: (s.old, at(OFFSET)), "commit", "old", None, OFFSET),
    "fsync": on_fd(lambda s: (s.fd,), "data"),
    "fdatasync": on_fd(lambda s: (s.fd,), "data"),
    "sync_file_range": moves(
        lambda s: (s.fd, at(OFFSET), at(BYTES), SYNC_WAIT), "data", OFFSET
    ),
    "syncfs": on_fd(lambda s: (s.fd,), "data"),
    "sync": Case(lambda _: (), "data", None),
    "read": moves(lambda s: (s.fd, s.buffer, at(BYTES)), "cold", 0),
    "pread64": moves(lambda s: (s.fd, s.buffer, at(BYTES), at(OFFSET)), "cold", OFFSET),
    "readv": moves(lambda s: (s.fd, s.parts(), 2), "cold", 0),
    "preadv": moves(lambda s: (s.fd, s.parts(), 2, at(OFFSET), 0), "cold", OFFSET),
    "preadv2": moves(
        lambda s: (s.fd, s.parts(), 2, at(OFFSET), 0, 0), "cold", OFFSET, (4, 6)
    ),
    "getdents": Case(lambda s: (s.folder, s.buffer, 4096), "mount", "", "folder"),
    "getdents64": Case(lambda s: (s.folder, s.buffer, 4096), "mount", "", "folder"),
    "open": Case(lambda s: (s.new, WRONLY_CREAT, 0o644)),
    "openat": Case(lambda s: (AT_FDCWD, s.new, WRONLY_CREAT, 0o644)),
    "openat2": Case(lambda s: (s.folder, b"new", HOW, at(24)), since=(5, 6)),
    "creat": Case(lambda s: (s.new, 0o644)),
    "mkdir": Case(lambda s: (s.new, 0o755)),
    "mkdirat": Case(lambda s: (s.folder, b"new", 0o755)),
    "mknod": Case(lambda s: (s.new, 0o100644, 0)),
    "mknodat": Case(lambda s: (s.folder, b"new", 0o100644, 0)),
    "rmdir": Case(lambda s: (s.sub,), "commit", "sub"),
    "unlink": old(lambda s: (s.old,)),
    "unlinkat": old(lambda s: (s.folder, b"old", 0)),
    "rename": old(lambda s: (s.old, s.new)),
    "renameat": old(lambda s: (s.folder, b"old", s.folder, b"new")),
    "renameat2": old(lambda s: (AT_FDCWD, s.old, AT_FDCWD, s.new, 0)),
    "link": Case(lambda s: (s.old, s.new)),
    "linkat": Case(lambda s: (s.folder, b"old", s.folder, b"new", 0)),
    "symlink": Case(lambda s: (b"there", s.new)),
    "symlinkat": Case(lambda s: (b"there", s.folder, b"new")),
    "execve": Case(lambda s: (s.old, None, None), "mount", "old", fails=errno.EACCES),
    "readlink": Case(
        lambda s: (s.old, s.buffer, at(99)), "mount", "old", fails=errno.EINVAL
    ),
    "readlinkat": Case(
        lambda s: (s.folder, b"old", s.buffer, at(99)),
        "mount",
        "old",
        fails=errno.EINVAL,
    ),
    "chdir": Case(lambda s: (s.sub,), "mount", "sub"),
    "stat": old(lambda s: (s.old, s.buffer), "mount"),
    "lstat": old(lambda s: (s.old, s.buffer), "mount"),
    "newfstatat": old(lambda s: (AT_FDCWD, s.old, s.buffer, 0), "mount"),
    "statx": old(
        lambda s: (s.folder, b"old", 0, 0xFFF, s.buffer), "mount", since=(4, 11)
    ),
    "access": old(lambda s: (s.old, 4), "mount"),
    "faccessat": old(lambda s: (s.folder, b"old", 4), "mount"),
    "faccessat2": Case(
        lambda s: (s.folder, b"old", 4, 0), "mount", "old", since=(5, 8)
    ),
    "chmod": old(lambda s: (s.old, 0o600)),
    "fchmod": on_fd(lambda s: (s.fd, 0o600), "commit"),
    "fchmodat": old(lambda s: (s.folder, b"old", 0o600)),
    "fchmodat2": Case(lambda s: (s.folder, b"old", 0o600, 0), name="old", since=(6, 6)),
    "chown": old(lambda s: (s.old, 1, 1)),
    "fchown": on_fd(lambda s: (s.fd, 1, 1), "commit"),
    "lchown": old(lambda s: (s.old, 1, 1)),
    "fchownat": old(lambda s: (s.folder, b"old", 1, 1, 0)),
    "utime": old(lambda s: (s.old, TIMES)),
    "utimes": old(lambda s: (s.old, TIMES)),
    "futimesat": old(lambda s: (s.folder, b"old", TIMES)),
    "utimensat": old(lambda s: (s.folder, b"old", TIMES, 0)),
    "setxattr": old(lambda s: (s.old, ATTRIBUTE, VALUE, at(1), 0)),
    "lsetxattr": old(lambda s: (s.old, ATTRIBUTE, VALUE, at(1), 0)),
    "fsetxattr": on_fd(lambda s: (s.fd, ATTRIBUTE, VALUE, at(1), 0), "commit"),
    "removexattr": old(lambda s: (s.old, b"user.there")),
    "lremovexattr": old(lambda s: (s.old, b"user.there")),
    "fremovexattr": on_fd(lambda s: (s.fd, b"user.there"), "commit"),
    "removexattrat": Case(
        lambda s: (s.folder, b"old", 0, b"user.there"), name="old", since=(6, 13)
    ),
    "getxattr": old(lambda s: (s.old, b"user.there", s.buffer, at(9)), "mount"),
    "lgetxattr": old(lambda s: (s.old, b"user.there", s.buffer, at(9)), "mount"),
    "listxattr": old(lambda s: (s.old, s.buffer, at(99)), "mount"),
    "llistxattr": old(lambda s: (s.old, s.buffer, at(99)), "mount"),
    "ioctl": on_fd(lambda s: (s.fd, at(FS_IOC_SETFLAGS), FLAGS), "commit"),
    "bind": Case(lambda s: (s.socket(), unix(s.new), UNIX_BYTES)),
    "connect": Case(
        lambda s: (s.socket(), unix(s.old), UNIX_BYTES),
        "mount",
        "old",
        fails=errno.ECONNREFUSED,
    ),
    "recvfrom": Case(
        lambda s: (s.pair(), s.mapped(), at(BYTES), 0, None, None),
        "cold",
        None,
        bytes=BYTES,
    ),
    "recvmsg": Case(lambda s: (s.pair(), s.message(), 0), "cold", None),
    "recvmmsg": Case(lambda s: (s.pair(), s.message(), 1, 0, None), "cold", None),
    "sendto": Case(
        lambda s: (s.pair(), s.mapped(), at(BYTES), 0, None, 0),
        "cold",
        None,
        bytes=BYTES,
    ),
    "sendmsg": Case(lambda s: (s.pair(), s.message(), 0), "cold", None),
    "sendmmsg": Case(lambda s: (s.pair(), s.message(), 1, 0), "cold", None),
    "close": releases(lambda s: (s.opened(),)),
    "close_range": releases(lambda s: (fd := s.opened(), fd, 0), since=(5, 9)),
    "dup2": releases(lambda s: (s.library, s.opened())),
    "dup3": releases(lambda s: (s.library, s.opened(), 0)),
    "mmap": Case(
        lambda s: (None, at(LENGTH), mmap.PROT_READ, mmap.MAP_SHARED, s.fd, at(0)),
        "commit",
        "old",
        "fd",
        0,
        LENGTH,
    ),
    "munmap": releases(lambda s: (s.mapped_last(), at(LENGTH))),
    "exit": releases(lambda s: (s.left_open(),)),
    "exit_group": releases(lambda s: (s.left_open(),)),
    "msync": Case(
        lambda s: (s.mapped(), at(LENGTH), MS_SYNC),
        "data",
        "old",
        None,
        None,
        LENGTH,
    ),
}
# What chance decides is made more than once: before msync(2) was told from what lies
# around it, 6 of 40 were said to be of a library, on 6.12.
BY_CHANCE = {"msync": 8, "close": 8, "dup2": 8, "munmap": 8, "exit_group": 8}


def _load(scene: Scene) -> None:
    assert scene.map
    scene.map[OFFSET]


def _store(scene: Scene) -> None:
    assert scene.map
    scene.map[OFFSET] = 1


def _fault(needs: str) -> Case:
    """docs/events.md says why not before 4.10."""
    return Case(lambda _: (), needs, "old", offset=OFFSET, since=(4, 10))


# Page faults: what is done, and what for.
FAULTS = {
    "page_fault.load": (_load, _fault("cold")),
    "page_fault.store": (_store, _fault("commit")),
}


def made(name: str, case: Case, scene: Scene) -> None:
    """Make a call by its number; it must return what it should."""
    done = aio.LIBC.syscall(ctypes.c_long(NUMBERS[name]), *case.arguments(scene))
    got = ctypes.get_errno() if done < 0 else 0
    lab.expect(got == case.fails, f"{name}: errno {got}, not {case.fails}")
