# SPDX-License-Identifier: GPL-2.0-only
"""trees: Debian trees in the cache, to build packages in and to try them in."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from machine import cache, image, mirror
from writestall_base.errors import UserError

# The releases that packages are tried in.
SUITES = ("bookworm", "trixie", "forky")
# What builds them has the tools in versions of its own, whatever the host has.
BUILDER = "trixie"
TOOLS = (
    *("debhelper", "dh-python", "dh-dkms", "lintian"),  # packages
    *("python3-argparse-manpage", "python3-shtab", "python3"),  # page and completions
    *("gcc", "make", "pkg-config", "clang", "bpftool"),  # bpf/core
    *("libbpf-dev", "libelf-dev", "zlib1g-dev"),
    *("umoci", "crun", "python3-yaml"),  # OCI image
    *("grub-pc-bin", "grub-common", "fdisk", "qemu-utils", "openssh-client"),  # box
)
# Where a command finds what it needs of the host.
HOST = "/mnt/host"


def tree(suite: str) -> Path:
    """A tree of the suite that has what is essential, and APT."""
    return _built(f"debian-{suite}", suite, ("apt",))


def workshop() -> Path:
    """The tree that has the tools."""
    return _built("workshop", BUILDER, ("apt", *TOOLS))


def _built(name: str, suite: str, packages: Iterable[str]) -> Path:
    done = image.rooted(name, suite, ",".join(packages), dpkg_options=())
    cache.prune(name, done, image.as_owner())
    return done


def network(folder: Path) -> None:
    """Put into the folder what APT needs in a tree: names and this host's settings."""
    shutil.copy("/etc/resolv.conf", folder)
    options = (f"{option.removesuffix(';')};\n" for option in mirror.apt_options())
    (folder / "apt.conf").write_text("".join(options))


def carry_out(script: Path, home: Path, folder: Path, *words: str) -> None:
    """Run a script in the tree; it finds the folder at HOST, and leaves work there."""
    shutil.copy(script, folder)
    enter(home, [f"{folder}:{HOST}"], ["bash", f"{HOST}/{script.name}", *words])


def enter(home: Path, binds: Sequence[str], command: Sequence[str]) -> None:
    """Run a command in the tree; what it writes is gone, but in folders of `binds`."""
    try:
        image.logged(image.entering(home, binds, command))
    except UserError as error:
        what = " ".join(command[:2])
        raise UserError(f"{what}: {str(error).removeprefix('enter.sh ')}") from None
