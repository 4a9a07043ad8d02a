# SPDX-License-Identifier: GPL-2.0-only
"""strangers: processes of another user that lay traps for who reads their files."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534
PYTHON = "/usr/bin/python3"  # one that every user may run
SECRET = "root:secret\n"
IN_NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount"]
PRELUDE = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
secret, mine = sys.argv[1], f"/tmp/perf-{os.getpid()}.map"
def mount(what, where, kind=None, flags=0):
    if libc.mount(what.encode(), where.encode(), kind, flags, None):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
BIND = 4096
mount("tmpfs", "/tmp", b"tmpfs")
"""
POSTLUDE = """
print("ready", flush=True)
time.sleep(600)
"""


@contextmanager
def secret() -> Iterator[Path]:
    """A file that root alone may read, in a folder that all may enter."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o711)
        place = Path(folder) / "shadow"
        place.write_text(SECRET)
        place.chmod(0o600)
        yield place


@contextmanager
def stranger(trap: str, hidden: Path) -> Iterator[int]:
    """A process of nobody's, in namespaces of its own, with a trap laid."""
    if os.geteuid():
        pytest.skip("needs root: another user's process is read")
    process = subprocess.Popen(
        [*IN_NAMESPACES, PYTHON, "-c", PRELUDE + trap + POSTLUDE, str(hidden)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    try:
        assert process.stdout and process.stderr
        if process.stdout.readline() != "ready\n":
            said = process.stderr.read()
            if "unshare" in said or "mount:" in said:
                pytest.skip(f"needs user namespaces: {said.splitlines()[-1]}")
            raise AssertionError(said)
        yield process.pid
    finally:
        process.kill()
        process.communicate()
