# SPDX-License-Identifier: GPL-2.0-only
"""doctor: list what this host can do and what is missing, with remedies."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driver import needs
from driver.commands import kernel_support
from machine import accel, cache, image, mirror, qemu, recipe
from machine.commands import said, search_path
from writestall_base.errors import UserError

# Trees, root disk, compiled parts and SystemTap's cache, with room to build a new
# image before the old one is deleted: measured 5.3 GB, rounded up.
CACHE_BYTES = 8 << 30
MEMORY_BYTES = 4 << 30


@dataclass(frozen=True)
class Finding:
    """One row: what was checked, the result, the reason, and a remedy.

    Only a finding that `blocks` keeps `make lab` from working.
    """

    what: str
    good: bool
    reason: str
    remedy: str = ""
    blocks: bool = True


def cache_room() -> Finding:
    """Whether the cache's disk has room; a built image counts."""
    place = cache.root()
    there = next(filter(Path.exists, (place, *place.parents)))  # on the same disk
    free = shutil.disk_usage(there).free
    built = image.built_tree(recipe.load())
    good = free >= (CACHE_BYTES // 8 if built else CACHE_BYTES)
    reason = f"{free >> 30} GiB free for {place}"
    remedy = f"free {CACHE_BYTES >> 30} GiB, or set WRITESTALL_CACHE to another folder"
    return Finding("disk space", good, reason, remedy)


def _host() -> Iterator[Finding]:
    machine = platform.machine()
    yield Finding("processor", machine == "x86_64", machine, "use an x86-64 machine")
    version = platform.python_version()
    yield Finding(
        "python", sys.version_info >= (3, 11), version, "install Python 3.11+"
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield Finding(
        "memory",
        memory >= MEMORY_BYTES,
        f"{memory >> 20} MiB",
        f"the guest takes 2 GiB: use a machine with {MEMORY_BYTES >> 30} GiB",
    )
    yield cache_room()


def _version(command: str) -> str:
    """The first line of COMMAND --version, or its path."""
    path = shutil.which(command, path=search_path())
    if not path:
        return "found"
    done = said([path, "--version"])
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines and not done.returncode else path


def _tools() -> Iterator[Finding]:
    lacking = needs.missing(("lab", "test"))
    for need in needs.NEEDS:
        if need.rootless_only and os.geteuid() == 0:
            continue
        good = need not in lacking
        reason = _version(need.name) if good else f"missing; it {need.why}"
        remedy = f"make setup, or install {need.package(0)}"
        yield Finding(need.name, good, reason, remedy, blocks=need.group == "lab")


def _network() -> Iterator[Finding]:
    try:
        mirror.mirror()
        yield Finding("Debian mirror", True, "named by this machine's APT sources")
    except UserError as error:
        yield Finding("Debian mirror", False, str(error), "set WRITESTALL_MIRROR")


def _accelerator() -> Finding:
    choice = accel.remembered()
    if choice is None:
        there = "/dev/kvm opens; whether a kernel runs under it was not tried yet"
        return Finding("KVM", False, there, "the first run tries it", blocks=False)
    remedy = "none needed: QEMU's TCG runs everything, about four times slower"
    return Finding("KVM", choice.name == "kvm", choice.reason, remedy, blocks=False)


def _machine() -> Iterator[Finding]:
    yield _accelerator()
    known = recipe.load()
    unbuilt = "not built yet"
    if image.built_tools(known):
        yield Finding("QEMU", True, qemu.version(known))
    else:
        yield Finding("QEMU", False, unbuilt, "make lab builds it", blocks=False)
    for name, suite in recipe.load(full=True).kernels.items():
        known = recipe.load(name)
        if image.built_tree(known):
            yield Finding(f"kernel {name}", True, image.kernel(known).release)
        else:
            reason = f"{unbuilt} (from {suite})"
            remedy = f"writestall lab --kernel {name} builds it"
            yield Finding(f"kernel {name}", False, reason, remedy, blocks=False)


def main(args: argparse.Namespace) -> int:
    """Print the list; return 1 when something keeps `make lab` from working."""
    findings = [*_host(), *_tools(), *_network(), *_machine()]
    for row in findings:
        answer = "yes" if row.good else "no"
        remedy = "" if row.good else f" -> {row.remedy}"
        print(f"{answer:<4}{row.what:<20} {row.reason}{remedy}")
    missing = [row.what for row in findings if row.blocks and not row.good]
    if missing:
        print(f"\nMissing for make lab: {', '.join(missing)}")
    else:
        print("\nmake lab has all that it needs.")
    print(f"\n{kernel_support.plain()}", end="")
    return 1 if missing else 0
