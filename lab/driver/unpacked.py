# SPDX-License-Identifier: GPL-2.0-only
"""unpacked: Debian packages whose programs are used and that are not installed.

Some would start a service on the host (prometheus), change its users (systemd) or need
a newer release. APT verifies them, and mmdebstrap unpacks them to a tree in the cache:
no script of theirs runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from machine import cache, image

SUITE = "trixie"
WHY = {
    "prometheus": "checks alert rules, and answers the dashboard's queries",
    "systemd": "checks the unit of watch",
    "vagrant-libvirt": "validates the Vagrantfile, and has the first key of a box",
    "minisign": "signs a release",
}
# What a program's own scripts and its start need.
BESIDE = ("base-files", "coreutils", "dash")


def tree() -> Path:
    include = ",".join((*BESIDE, *WHY))
    done = image.rooted("unpacked", SUITE, include, variant="extract")
    cache.prune("unpacked", done, image.as_owner())
    return done


def command(words: Iterable[str], folders: Iterable[Path] = ()) -> list[str]:
    """The command line that runs a program of the tree; it sees the folders."""
    binds = (f"{folder}:{folder}" for folder in folders)
    return image.entering(tree(), binds, words)
