# SPDX-License-Identifier: GPL-2.0-only
"""sources: the tree's tracked files, its version and its date."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from driver.project import PROJECT
from writestall_base.errors import UserError

# Where the version is: the first is the source, which setuptools reads, too; the module
# is built of its own folder alone, so that it has copies.
PLACES = {
    "analysis/writestall/__init__.py": r'^__version__ = "(.+)"$',
    "kmod/biodelay.h": r'^#define BIODELAY_VERSION "(.+)"$',
    "kmod/dkms.conf": r'^PACKAGE_VERSION="(.+)"$',
}


def versions() -> dict[str, str]:
    return {
        name: re.findall(pattern, (PROJECT / name).read_text(), re.M)[0]
        for name, pattern in PLACES.items()
    }


def version() -> str:
    """The version of the program, the packages and the module: all say the same."""
    stated = versions()
    if len(set(stated.values())) > 1:
        raise UserError(f"one version, not {stated}: change all of these files")
    return next(iter(stated.values()))


def stamp(folder: Path, other: str) -> None:
    """Give a copy of the tree another version."""
    for name, pattern in PLACES.items():
        path = folder / name
        text = path.read_text()
        found = re.search(pattern, text, re.M)
        assert found, name
        path.write_text(text[: found.start(1)] + other + text[found.end(1) :])


def _git(*words: str) -> str:
    command = ["git", "-C", str(PROJECT), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"packages are built of a git clone: {done.stderr.strip()}")
    return done.stdout


def epoch_s() -> int:
    """SOURCE_DATE_EPOCH: when the last commit was made."""
    return int(_git("log", "-1", "--format=%ct"))


def timestamp() -> str:
    """The same, as documents have it (ISO 8601)."""
    return f"{datetime.fromtimestamp(epoch_s(), UTC):%Y-%m-%dT%H:%M:%SZ}"


def dirty() -> bool:
    """Whether a tracked file differs from the last commit."""
    return bool(_git("status", "--porcelain", "--untracked-files=no").strip())


def copy(to: Path) -> None:
    """Copy the tracked files, as they are now; their times are the last commit's."""
    when_s = epoch_s()
    for name in _git("ls-files", "-z").split("\0"):
        if name and (source := PROJECT / name).is_file():
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
            os.utime(target, (when_s, when_s))
