#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""attacker: what a user without privileges tries against a tracer that runs as root.

Each trick is a process of that user in a folder of its own on the slow disk. It makes
calls stall, so that its files are read, and repeats until it is killed.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

NOBODY = 65534
MS_REC_PRIVATE = 0x4000 | 1 << 18  # include/uapi/linux/mount.h
MS_BIND = 0x1000
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000  # include/uapi/linux/sched.h
PORT = 9709
CGROUP = Path("/sys/fs/cgroup/attacker")
SECRET_IN_TMP = Path("/tmp/attacked/secret")
PR_SET_NAME = 15
libc = ctypes.CDLL(None, use_errno=True)


def stall(place: Path, times: int | None = None) -> None:
    """Write through to the disk: a call that sleeps in the kernel."""
    for _ in count() if times is None else range(times):
        opened = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o644)
        os.pwrite(opened, b"x" * 512, 0)
        os.close(opened)


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = [word.encode() for word in (source, target, kind)]
    if libc.mount(*words, flags, data.encode()):
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}")


def _own_namespace() -> None:
    """Be root of a user namespace with mounts of its own."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount("none", "/", "", MS_REC_PRIVATE)


def _own_tmp() -> Path:
    """A /tmp of its own; the map that a tracer looks for there."""
    _own_namespace()
    _mount("tmpfs", "/tmp", "tmpfs", 0)
    return Path(f"/tmp/perf-{os.getpid()}.map")


def map_is_link(home: Path, secret: Path) -> None:
    _own_tmp().symlink_to(secret)
    stall(home / "file")


def map_is_bind_mount(home: Path, secret: Path) -> None:
    place = _own_tmp()
    place.touch()
    _mount(str(secret), str(place), "", MS_BIND)
    stall(home / "file")


def map_is_hard_link(home: Path, secret: Path) -> None:
    """A name in /tmp for a file of root's there (fs.protected_hardlinks is 0)."""
    place = Path(f"/tmp/perf-{os.getpid()}.map")
    place.unlink(missing_ok=True)
    os.link(SECRET_IN_TMP, place)
    stall(home / "file")


def map_changes(home: Path, secret: Path) -> None:
    """A map is a file and a link in turn, thousands of times a second."""
    place = _own_tmp()
    good, bad = place.with_name("good"), place.with_name("bad")

    def swap() -> None:
        while True:
            good.write_text("1000 10 function\n")
            good.replace(place)
            bad.symlink_to(secret)
            bad.replace(place)

    threading.Thread(target=swap, daemon=True).start()
    stall(home / "file")


def map_is_pipe(home: Path, secret: Path) -> None:
    os.mkfifo(_own_tmp())
    stall(home / "file")


def map_is_device(home: Path, secret: Path) -> None:
    _own_tmp().symlink_to("/dev/watchdog")
    stall(home / "file")


def map_is_huge(home: Path, secret: Path) -> None:
    place = _own_tmp()
    with place.open("w") as file:
        file.writelines(f"{at * 16:x} 10 f{at}\n" for at in range(900_000))
        file.truncate(1 << 40)
    stall(home / "file")


def tmp_never_answers(home: Path, secret: Path) -> None:
    """A FUSE file system whose server answers nothing but FUSE_INIT."""
    _own_namespace()
    device = os.open("/dev/fuse", os.O_RDWR)
    data = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    _mount("fuse", "/tmp", "fuse", 0, data)

    def serve() -> None:
        request = os.read(device, 1 << 20)  # include/uapi/linux/fuse.h, FUSE_INIT
        unique = request[8:16]
        body = struct.pack("<IIIIHHI", 7, 31, 0, 0, 8, 8, 4096) + bytes(40)
        os.write(device, struct.pack("<Ii", 16 + len(body), 0) + unique + body)
        while True:
            os.read(device, 1 << 20)

    threading.Thread(target=serve, daemon=True).start()
    stall(home / "file")


def code_has_many_notes(home: Path, secret: Path) -> None:
    """An executable mapping of a file with 65,535 segments of notes that overlap."""
    place, segments = home / "notes", 65535
    size = 256 << 20
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, segments, 64, 0, 0
    )
    table = struct.pack("<IIQQQQQQ", 4, 4, 1 << 22, 0, 0, size, size, 4) * segments
    place.write_bytes(head + table)
    os.truncate(place, (1 << 22) + size)
    opened = os.open(place, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap(None, ctypes.c_size_t(4096), 1 | 4, 2, opened, ctypes.c_long(0))
    stall(home / "file")


def names_are_hostile(home: Path, secret: Path) -> None:
    for at in count():
        libc.prctl(PR_SET_NAME, b'\n{"ev":"\x1b[2J', 0, 0, 0)
        stall(home / f'\n{{"ev":"write"}}\x1b[2J\u202e"$(reboot)"{at % 50}', 2)


def descriptors_change(home: Path, secret: Path) -> None:
    """close(2), dup2(2) and unlink(2) of the file of a call that sleeps."""
    name = home / "changing"
    number = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
    other = os.open("/dev/null", os.O_WRONLY)

    def storm() -> None:
        while True:
            name.unlink(missing_ok=True)
            again = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o644)
            os.dup2(again, number)
            os.close(again)
            os.dup2(other, number)

    threading.Thread(target=storm, daemon=True).start()
    while True:
        os.write(number, b"x" * 512)
        try:
            os.fdatasync(number)
        except OSError:
            continue  # it is /dev/null


def processes_end(home: Path, secret: Path) -> None:
    """A process for each stall, gone when a tracer looks; pids are used again."""
    for at in count():
        pid = os.fork()
        if not pid:
            stall(home / f"file-{at % 100}", 1)
            os._exit(0)
        if at % 50 == 49:
            time.sleep(0.2)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def stalls_end_in_exec(home: Path, secret: Path) -> None:
    """A stalled process executes a set-user-ID program: it is root's from then on."""
    while True:
        pid = os.fork()
        if not pid:
            Path(f"/tmp/perf-{os.getpid()}.map").write_text("1000 10 mine\n")
            stall(home / "file", 1)
            os.dup2(os.open("/dev/null", os.O_RDWR), 1)
            os.execv("/usr/bin/passwd", ["passwd", "-S"])
        os.waitpid(pid, 0)


def clients_are_slow(home: Path, secret: Path) -> None:
    """Twelve clients that send a byte now and then, and connect again."""

    def one() -> None:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", PORT), 5) as client:
                    for byte in b"GET /metrics HTTP/1.1\r\n" + b"X" * 10_000:
                        client.send(bytes([byte]))
                        time.sleep(2)
            except OSError:
                time.sleep(0.2)

    for _ in range(12):
        threading.Thread(target=one, daemon=True).start()
    stall(home / "file")


def cgroups_are_many(home: Path, secret: Path) -> None:
    """A subtree that was delegated is filled with cgroups, each with a stall."""
    top = CGROUP
    for at in count():
        group = top / f"docker-{at % 300:064x}.scope"
        group.mkdir(exist_ok=True)
        pid = os.fork()
        if not pid:
            (group / "cgroup.procs").write_text("0")
            stall(home / f"file-{at % 300}", 1)
            os._exit(0)
        os.waitpid(pid, 0)


Trick = Callable[[Path, Path], None]
TRICKS: dict[str, Trick] = {
    trick.__name__: trick
    for trick in (
        map_is_link, map_is_bind_mount, map_is_hard_link, map_changes, map_is_pipe,
        map_is_device, map_is_huge, tmp_never_answers, code_has_many_notes,
        names_are_hostile, descriptors_change, processes_end, stalls_end_in_exec,
        clients_are_slow, cgroups_are_many,
    )
}  # fmt: skip


def begin(name: str, top: Path, secret: Path) -> int:
    """Start a trick as a user without privileges; return its process."""
    home = top / name
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    pid = os.fork()
    if pid:
        return pid
    try:
        (CGROUP / "cgroup.procs").write_text("0")
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its /proc files are its own again
        TRICKS[name](home, secret)
    except BaseException as error:
        print(f"{name} ended: {error!r}", file=sys.stderr, flush=True)
    os._exit(1)
