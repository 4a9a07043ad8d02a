# SPDX-License-Identifier: GPL-2.0-only
"""run_folder: make the folder of a recording, or check one that is there.

Its path may lead through folders of other users, who can put something else in its
place. So it is opened once, and root writes below that descriptor alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISVTX, S_IWGRP, S_IWOTH

from writestall_base.errors import UserError

PROBE = "manifest.json.new"
OTHERS = S_IWGRP | S_IWOTH


@dataclass(frozen=True)
class RunFolder:
    """An empty folder of this user's; `path` is what it is called."""

    path: Path
    descriptor: int

    @property
    def pinned(self) -> Path:
        """The folder itself, whatever is at its path by now: to write in it."""
        return Path(f"/proc/self/fd/{self.descriptor}")

    def named(self, text: str) -> str:
        """A message about a file in it, by its name."""
        return text.replace(str(self.pinned), str(self.path))

    def hand_over(self) -> None:
        """Give it to who called sudo(8); this process may write nothing there then."""
        user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
        if user.isdigit() and group.isdigit():
            os.fchown(self.descriptor, int(user), int(group))


def new_folder(given: Path | None, default: Callable[[], Path]) -> RunFolder:
    """Make the run directory, or take an empty one. Raises UserError."""
    folder = given or default()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)  # it has names of all users' files
        folder = folder.parent.resolve() / folder.name
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with os.scandir(opened) as entries:
            taken = any(entries)
        why = "" if taken else _not_ours(opened)
    except OSError as error:
        place = error.filename or folder
        raise UserError(f"{place}: {error.strerror}; name another with -o") from None
    if taken:
        raise UserError(f"{folder}: exists and is not empty; name a new one with -o")
    if why:
        raise UserError(f"{folder}: {why}; name a new one with -o")
    return RunFolder(folder, opened)


def _not_ours(folder: int) -> str:
    """Why others can change what is in a folder; empty if they cannot.

    Its owner must be that of a file that is made there: on a share, all files may have
    one other owner.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    probe = os.open(PROBE, flags, 0o600, dir_fd=folder)
    try:
        own = os.fstat(probe).st_uid
    finally:
        os.close(probe)
        os.unlink(PROBE, dir_fd=folder)
    status = os.fstat(folder)
    if status.st_uid != own:
        return f"belongs to user {status.st_uid}, not to user {own}"
    return "others may write in it" if status.st_mode & OTHERS else ""


def check_kept(option: str, folder: Path) -> None:
    """Refuse a folder of a service that others can change or move, by its path.

    A sticky folder above it, like /tmp, does not let them (unlink(2), EPERM).
    """
    real = folder.resolve()
    for place in (real, *real.parents):
        status = place.stat()
        sticky = place != real and status.st_mode & S_ISVTX
        if status.st_uid not in (0, os.geteuid()):
            why = f"belongs to user {status.st_uid}"
        elif status.st_mode & OTHERS and not sticky:
            why = "others may write in it"
        else:
            continue
        raise UserError(
            f"{option} {folder}: {place}: {why}; name one that only root can change"
        )
