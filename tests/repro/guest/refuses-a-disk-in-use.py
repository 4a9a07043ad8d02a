#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that a disk in use is always refused, and one that has data is
refused without --wipe, both without a changed byte.

Arguments go to every repro/run: --build DIR, --engine ENGINE. Each run is a fork of
this process, which has imported labrun once, because a start takes an emulated machine
seconds.
"""

import contextlib
import fnmatch
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from traces_of_a_run import leftovers, settings

sys.dont_write_bytecode = True
from labrun.run import cli  # noqa: E402

DISK = "/dev/vdb"
LOOKED_AT_BYTES = 4 << 20
SECTORS = 1 << 20  # of each partition
LINUX = 0x83


def do(*command: str | Path) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def contents() -> bytes:
    with Path(DISK).open("rb") as disk:
        return disk.read(LOOKED_AT_BYTES)


def run(*words: str | Path) -> tuple[int, str]:
    """repro/run with these words: its status and what it printed."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(writes, stream)
        sys.argv = ["repro/run", "journal-buffer", *map(str, words), *ARGUMENTS]
        status = 70
        try:
            status = cli.main()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def refused(what: str, pattern: str, *words: str | Path) -> None:
    """One line, status 2, nothing changed."""
    before, was_set, out = contents(), settings(), FOLDER / "run"
    status, text = run("--out", out, *words)
    print(f"{what}: {text}", end="", flush=True)
    assert status == 2, f"{what}: status {status}"
    assert fnmatch.fnmatchcase(text, f"*{pattern}*\n"), f"{what}: want {pattern}"
    assert text.count("\n") == 1, f"{what}: not one line"
    assert contents() == before, f"{what}: the disk was changed"
    assert not (out / "manifest.json").exists(), f"{what}: left a manifest"
    assert not leftovers(was_set), f"{what}: {leftovers(was_set)}"


def refused_always(what: str, pattern: str) -> None:
    """With --wipe and without."""
    refused(what, pattern, "--disk", DISK)
    refused(f"{what} --wipe", pattern, "--disk", DISK, "--wipe")


@contextlib.contextmanager
def mounted(device: str) -> Iterator[Path]:
    folder = FOLDER / "mnt"
    folder.mkdir()
    do("mount", "-o", "ro,noload", device, folder)
    try:
        yield folder
    finally:
        do("umount", folder)
        folder.rmdir()


def no_disks() -> None:
    refused("no disk", "--disk is missing")
    refused("absent", "/dev/absent: No such file", "--disk", "/dev/absent")
    refused("a file", "is not a block device", "--disk", "/etc/passwd")
    refused("a character device", "is not a block device", "--disk", "/dev/null")
    words = ("--duration-s", "0", "--disk", DISK)
    refused("no duration", "--duration-s: *want 1 to", *words)


def file_systems() -> None:
    do("mkfs.ext4", "-q", DISK)
    wanted = "carries data (ext4); --wipe destroys it"
    refused("a file system", wanted, "--disk", DISK)
    with mounted(DISK) as folder:
        refused_always("mounted", f"vdb is mounted on {folder}")
    do("wipefs", "--all", "--quiet", DISK)


def swap() -> None:
    do("mkswap", "--quiet", DISK)
    refused("unused swap", "carries data (swap)", "--disk", DISK)
    do("swapon", DISK)
    try:
        refused_always("swap", "vdb is swap")
    finally:
        do("swapoff", DISK)
    do("wipefs", "--all", "--quiet", DISK)


def write_table(*first_sectors: int) -> None:
    """Write a DOS partition table (block/partitions/msdos.c)."""
    entry = struct.Struct("<x3xB3xII")
    table = b"".join(entry.pack(LINUX, first, SECTORS) for first in first_sectors)
    with Path(DISK).open("r+b") as disk:
        disk.seek(446)
        disk.write(table)
        disk.seek(510)
        disk.write(b"\x55\xaa")
    do("blockdev", "--rereadpt", DISK)


def partitions() -> None:
    write_table(2048, 2048 + SECTORS)
    wanted = "carries data (dos, partitions vdb1, vdb2)"
    refused("partitions", wanted, "--disk", DISK)
    do("mkfs.ext4", "-q", f"{DISK}2")
    with mounted(f"{DISK}2"):
        refused_always("a mounted partition", "vdb2 is mounted")
    do("wipefs", "--all", "--quiet", "--force", DISK)
    do("blockdev", "--rereadpt", DISK)


def holders() -> None:
    do("dmsetup", "create", "held", "--table", f"0 65536 linear {DISK} 0")
    try:
        refused_always("device-mapper", "vdb is held by dm-0")
    finally:
        do("dmsetup", "remove", "held")
    claim = os.open(DISK, os.O_RDONLY | os.O_EXCL)
    try:
        refused_always("claimed", "vdb (*) is claimed")
    finally:
        os.close(claim)
    do("blockdev", "--setro", DISK)
    try:
        refused_always("read-only", "is read-only")
    finally:
        do("blockdev", "--setrw", DISK)


def folders() -> None:
    full = FOLDER / "full"
    full.mkdir()
    (full / "precious").touch()
    for place, why in (
        (full, "/full is not empty; name a new one"),
        (full / "precious", "/precious: File exists; name another"),
    ):
        refused(f"--out {place}", why, "--disk", DISK, "--out", place)


def wiped() -> None:
    """A disk that is refused without --wipe is used with it."""
    do("mkfs.ext4", "-q", DISK)
    was_set, out = settings(), FOLDER / "wiped"
    words = ("--disk", DISK, "--wipe", "--out", out, "--duration-s", "1")
    status, text = run(*words)
    assert status == 0, f"wiped: status {status}: {text}"
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["status"] == "complete", f"wiped: {manifest['status']}"
    assert not leftovers(was_set), f"wiped: {leftovers(was_set)}"


ARGUMENTS = sys.argv[1:]
FOLDER = Path(tempfile.mkdtemp(prefix="test-"))
begun_s = time.monotonic()
for part in (no_disks, file_systems, swap, partitions, holders, folders, wiped):
    part()
    print(f"{part.__name__}: {time.monotonic() - begun_s:.0f} s", flush=True)
