# SPDX-License-Identifier: GPL-2.0-only
"""cache: keep finished builds, named after a digest of their inputs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from writestall_base.errors import UserError

UNUSED_S = 86_400


def root() -> Path:
    """The cache folder: $WRITESTALL_CACHE, else $XDG_CACHE_HOME/writestall."""
    if chosen := os.environ.get("WRITESTALL_CACHE"):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "writestall"


def digest(*parts: str | bytes | Path) -> str:
    """16 hex digits over strings and file contents, order and bounds kept."""
    total = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            data = part.read_bytes()
        else:
            data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:16]


def host_digest(*parts: Path) -> str:
    """The digest of this host's kernel and processor, and of files."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = {line for line in lines if line.startswith("model name")}
    return digest(*platform.uname(), *sorted(models), *parts)


def _lock_of(path: Path) -> Path:
    """The lock of a result; its time of change says when that was last used."""
    return Path(f"{path}.lock")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock named after path; a second builder waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _lock_of(path).open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def remove(path: Path, as_owner: list[str]) -> None:
    """Delete a tree; `as_owner` prefixes a command that may delete its files."""
    if path.is_dir() and as_owner:
        subprocess.run([*as_owner, "rm", "-rf", str(path)], check=False)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def place(name: str, key: str) -> Path:
    """Where the finished result of these inputs is, or will be."""
    return root() / f"{name}-{key}"


def build(
    name: str,
    key: str,
    builder: Callable[[Path], None],
    *,
    as_owner: list[str] | None = None,
) -> Path:
    """Return cache/NAME-KEY; run builder(tmp) unless it exists.

    One rename publishes the result, so what exists is complete. An interrupted build
    leaves a `.part`, which the next build removes.
    """
    done = place(name, key)
    if done.exists():
        _lock_of(done).touch()
        return done
    with locked(done):
        if done.exists():
            return done
        part = done.with_name(done.name + ".part")
        remove(part, as_owner or [])
        try:
            builder(part)
        except OSError as error:
            raise UserError(f"cannot build {name}: {error}") from error
        part.rename(done)
    return done


def prune(name: str, keep: Path, as_owner: list[str] | None = None) -> None:
    """Delete results of the same name that were not used for UNUSED_S.

    Another checkout may be using an older result now.
    """
    for lock in root().glob(f"{name}-*.lock"):
        old = lock.with_suffix("")
        if old != keep and time.time() - lock.stat().st_mtime > UNUSED_S:
            remove(old, as_owner or [])
            lock.unlink(missing_ok=True)
