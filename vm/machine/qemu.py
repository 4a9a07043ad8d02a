# SPDX-License-Identifier: GPL-2.0-only
"""qemu: a description of a machine to a running QEMU that dies with us."""

from __future__ import annotations

import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from machine import image
from machine.commands import ends_with_us
from machine.errors import UserError
from machine.recipe import Recipe

# quiet and the TSC and timer options are what makes 3 s of boot out of 8;
# nokaslr lets one symbol table serve every boot of a kernel. A panic resets,
# which -no-reboot turns into the end of QEMU.
KERNEL_OPTIONS = (
    "console=ttyS0 quiet nokaslr tsc=reliable no_timer_check"
    " random.trust_cpu=on panic=-1 oops=panic"
)
# TCG carries out `rep movsb` byte by byte, and the kernel prefers it where the CPU
# calls it fast (arch/x86/lib/copy_user_64.S, clear_page_64.S); stac and clac around
# every copy to user space end a translated block; la57 is a fifth table to walk.
SLOW_UNDER_TCG = ("la57", "erms", "fsrm", "fsrs", "smap")
TCG_CPU = ",".join(("max", *(f"{feature}=off" for feature in SLOW_UNDER_TCG)))
# icount: TCG whose clock tells the instructions executed, one a nanosecond, while any
# are; a processor that the host takes away takes no time there. One host thread runs
# all CPUs (QEMU, docs/devel/tcg-icount.rst). icount-warp: and idle time is jumped over,
# to the next timer; for what waits for no disk of the host, which has no part in that.
ICOUNT = ("-accel", "tcg,thread=single", "-cpu", TCG_CPU, "-icount")
ACCEL = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    "tcg": ("-accel", "tcg,thread=multi", "-cpu", TCG_CPU),
    "icount": (*ICOUNT, "shift=0"),
    "icount-warp": (*ICOUNT, "shift=0,sleep=off"),
}
PORTS = ("verdict", "stdout", "stderr")


@dataclass(frozen=True)
class Share:
    """A host folder the guest sees at `folder`."""

    source: Path
    folder: str
    read_only: bool


@dataclass(frozen=True)
class Machine:
    """What one QEMU is started with; sizes in bytes, files on the host."""

    kernel: Path
    initrd: Path
    accel: str
    cpus: int = 2
    memory_bytes: int = 2 << 30
    root: Path | None = None
    console: Path | None = None
    virtio_disks: tuple[Path, ...] = ()
    scsi_disks: tuple[Path, ...] = ()
    shares: tuple[Share, ...] = ()
    port_fds: dict[str, int] = field(default_factory=dict)
    interactive: bool = False
    kernel_options: str = ""


def binary(recipe: Recipe) -> list[str]:
    """Our QEMU's command prefix: its own loader, libraries and firmware."""
    tools = image.tools(recipe)
    libraries = tools / "usr/lib/x86_64-linux-gnu"
    share = tools / "usr/share"
    return [
        str(libraries / "ld-linux-x86-64.so.2"),
        "--library-path",
        str(libraries),
        str(tools / "usr/bin/qemu-system-x86_64"),
        *("-L", str(share / "qemu"), "-L", str(share / "seabios")),
    ]


def version(recipe: Recipe) -> str:
    """Our QEMU's version, refused when it is older than the recipe allows."""
    command = [*binary(recipe), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\d+)\S*", text)
    if not found or int(found[1]) < recipe.qemu_minimum:
        raise UserError(f"QEMU {recipe.qemu_minimum} or newer is needed: {text!r}")
    return found[0].removeprefix("version ")


def _drives(machine: Machine) -> list[str]:
    """Disk arguments: the root first, so that it is the guest's /dev/vda."""
    arguments: list[str] = []
    scratch = "file={},if=none,id={},format=raw,cache=unsafe"
    if machine.root:
        arguments += [
            "-drive",
            f"file={machine.root},if=none,id=root,format=raw,readonly=on",
        ]
        arguments += ["-device", "virtio-blk-pci,drive=root"]
    for i, path in enumerate(machine.virtio_disks):
        arguments += ["-drive", scratch.format(path, f"blk{i}")]
        arguments += ["-device", f"virtio-blk-pci,drive=blk{i},serial=scratch-blk{i}"]
    if machine.scsi_disks:
        arguments += ["-device", "virtio-scsi-pci"]
    for i, path in enumerate(machine.scsi_disks):
        arguments += ["-drive", scratch.format(path, f"scsi{i}")]
        arguments += ["-device", f"scsi-hd,drive=scsi{i},serial=scratch-scsi{i}"]
    return arguments


def _channels(machine: Machine) -> list[str]:
    """Console, verdict and output: each a channel of its own."""
    console = f"file:{machine.console}" if machine.console else "null"
    arguments = ["-serial", console]
    if machine.port_fds or machine.interactive:
        arguments += ["-device", "virtio-serial-pci"]
    for number, (name, fd) in enumerate(machine.port_fds.items(), 1):
        arguments += ["-add-fd", f"fd={fd},set={number}"]
        arguments += ["-chardev", f"file,id={name},path=/dev/fdset/{number},append=on"]
        arguments += ["-device", f"virtserialport,chardev={name},name={name}"]
    if machine.interactive:
        arguments += ["-chardev", "stdio,id=shell,signal=off"]
        arguments += ["-device", "virtconsole,chardev=shell"]
    return arguments


def _shares(machine: Machine) -> list[str]:
    arguments: list[str] = []
    for i, share in enumerate(machine.shares):
        read_only = ",readonly=on" if share.read_only else ""
        arguments += [
            "-virtfs",
            f"local,path={share.source},mount_tag=share{i},security_model=none"
            f",multidevs=remap{read_only}",
        ]
    return arguments


def command(recipe: Recipe, machine: Machine) -> list[str]:
    """The whole QEMU command line, ended by the kernel when we die."""
    arguments = [
        *binary(recipe),
        *("-nodefaults", "-no-reboot", "-display", "none", "-nic", "none"),
        *("-M", "q35,usb=off,vmport=off,graphics=off"),
        *ACCEL[machine.accel],
        *("-smp", str(machine.cpus), "-m", f"{machine.memory_bytes >> 20}M"),
        *("-kernel", str(machine.kernel), "-initrd", str(machine.initrd)),
        *("-append", f"{KERNEL_OPTIONS} {machine.kernel_options}"),
        *_drives(machine),
        *_channels(machine),
        *_shares(machine),
    ]
    return ends_with_us(signal.SIGKILL, arguments)
