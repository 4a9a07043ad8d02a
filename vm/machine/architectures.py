# SPDX-License-Identifier: GPL-2.0-only
"""architectures: what a machine's processor decides: packages, QEMU, kernel options."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from writestall_base.errors import UserError

# Which one of the table; the programs that we start read it, too.
CHOICE = "WRITESTALL_ARCH"
# quiet shortens the boot. With nokaslr, one symbol table serves every boot of a kernel.
# A panic resets the machine, and -no-reboot makes QEMU exit then.
# Its self tests of ciphers would take a fifth of it (crypto/algboss.c).
KERNEL_OPTIONS = (
    "quiet nokaslr random.trust_cpu=on panic=-1 oops=panic cryptomgr.notests"
)
# TCG executes `rep movsb` byte by byte, and the kernel prefers it where the CPU says it
# is fast (arch/x86/lib/copy_user_64.S, clear_page_64.S); stac and clac around every
# copy to user space end a translated block; la57 adds a fifth page-table level.
SLOW_UNDER_TCG = ("la57", "erms", "fsrm", "fsrs", "smap")


@dataclass(frozen=True)
class Architecture:
    """One processor, of guests or of the host; its name is that of `uname -m`."""

    name: str
    debian: str  # the architecture of packages
    loader: str  # where programs look for it (their ELF header's PT_INTERP)
    system: str  # QEMU's program
    qemu_packages: str
    board: str  # QEMU's -M
    tcg_cpu: str
    serial: str  # the kernel's name of the console
    kernel_options: str
    firmware: tuple[str, ...] = ()  # folders below usr/share
    # The kernel is an ELF file in another, which QEMU boots faster (vmlinux.py).
    is_unpacked: bool = False
    has_tsc: bool = False  # tsc.py
    engines: tuple[str, ...] = ("stap", "core", "both")  # the lab's tracers
    # Of a compiler and its libraries that serve another host (builds/core.py).
    gnu: str = ""

    @property
    def libraries(self) -> str:
        """The folder of libraries in a Debian tree."""
        return f"usr/lib/{self.gnu}"

    @property
    def is_host(self) -> bool:
        """Whether the host has this processor, so that KVM may serve."""
        return self.name == platform.machine()


X86_64 = Architecture(
    name="x86_64",
    debian="amd64",
    gnu="x86_64-linux-gnu",
    loader="/lib64/ld-linux-x86-64.so.2",
    system="qemu-system-x86_64",
    qemu_packages="qemu-system-x86,seabios",
    firmware=("qemu", "seabios"),
    board="q35,usb=off,vmport=off,graphics=off",
    tcg_cpu=",".join(("max", *(f"{feature}=off" for feature in SLOW_UNDER_TCG))),
    serial="ttyS0",
    # The TSC and timer options shorten the boot from 8 s to 3 s; without the HPET, its
    # rate is not measured (drivers/char/hpet.c, hpet_calibrate()).
    kernel_options="tsc=reliable no_timer_check hpet=disable",
    is_unpacked=True,
    has_tsc=True,
)
# A named CPU: `max` signs its return addresses, which TCG computes with a cipher
# (QEMU, target/arm/tcg/pauth_helper.c).
AARCH64 = Architecture(
    name="aarch64",
    debian="arm64",
    gnu="aarch64-linux-gnu",
    loader="/lib/ld-linux-aarch64.so.1",
    system="qemu-system-aarch64",
    qemu_packages="qemu-system-arm",
    firmware=("qemu",),
    board="virt,gic-version=3",
    tcg_cpu="neoverse-n1",
    serial="ttyAMA0",
    kernel_options="",
    # SystemTap's scripts know the registers of x86-64 (trace/launcher/errors.py).
    engines=("core",),
)
ARCHITECTURES = {one.name: one for one in (X86_64, AARCH64)}


def host() -> Architecture:
    """That of this machine; refuse one that the table lacks."""
    return named(platform.machine())


def chosen() -> Architecture:
    """That of guests: the host's unless --arch names another."""
    return named(os.environ.get(CHOICE) or platform.machine())


def named(name: str) -> Architecture:
    if name not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise UserError(f"unknown architecture {name!r}: there are {known}")
    return ARCHITECTURES[name]
