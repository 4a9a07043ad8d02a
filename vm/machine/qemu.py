# SPDX-License-Identifier: GPL-2.0-only
"""qemu: build the QEMU command line for a machine."""

from __future__ import annotations

import errno
import os
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path

from machine import architectures, image
from machine.architectures import KERNEL_OPTIONS
from machine.commands import ends_with_us, output
from machine.recipe import Recipe
from writestall_base.errors import UserError

# icount: the guest's clock counts executed instructions, one per nanosecond, so time
# in which the host runs other work does not pass in the guest. One host thread runs all
# CPUs (QEMU, docs/devel/tcg-icount.rst). icount-warp also skips idle time, to the next
# timer: only for guests that wait for no disk of the host, whose time it would skip.
ICOUNT = ("-accel", "tcg,thread=single", "-icount")
ACCEL = {
    "kvm": ("-accel", "kvm"),
    "tcg": ("-accel", "tcg,thread=multi"),
    "icount": (*ICOUNT, "shift=0"),
    "icount-warp": (*ICOUNT, "shift=0,sleep=off"),
}
# What is written to CUT cuts the power (run.cut_power()).
CUT = "cut"
PORTS = ("verdict", "log", "stdout", "stderr", CUT)
# No guest makes QEMU start a program or change its user (qemu, system/qemu-seccomp.c).
DENIED = ("obsolete", "elevateprivileges", "spawn", "resourcecontrol")
SANDBOX = ",".join(("on", *(f"{what}=deny" for what in DENIED)))
# Modes on the host, less the umask of the caller, of what a guest makes in a share.
MADE = "fmode=0666,dmode=0777"


@dataclass(frozen=True)
class Share:
    """A host folder the guest sees at `folder`."""

    source: Path
    folder: str
    read_only: bool
    tag: str = ""  # by which the guest mounts it; of the machine if empty


@dataclass(frozen=True)
class Machine:
    """What one QEMU is started with; sizes in bytes, files on the host."""

    kernel: Path
    initrd: Path
    accel: str
    cpus: int = 2
    memory_bytes: int = 2 << 30
    root: Path | None = None
    layer: Path | None = None  # a disk of packages that lies above the root
    console: Path | None = None
    virtio_disks: tuple[Path, ...] = ()
    scsi_disks: tuple[Path, ...] = ()
    log_writes: bool = False  # of each scratch disk, in write_log() of it
    shares: tuple[Share, ...] = ()
    # Output ports by name, with the descriptor that each writes to; None: nowhere.
    ports: dict[str, int | None] = field(default_factory=dict)
    interactive: bool = False
    kernel_options: str = ""
    saved: Path | None = None  # the state to start in (snapshot.py)
    says: Path | None = None  # what the console says to the guest
    monitored: bool = False  # by QEMU's own commands, on standard input


def binary(recipe: Recipe) -> list[str]:
    """Our QEMU's command prefix: its own loader, libraries and firmware."""
    tools = image.tools(recipe)
    host = architectures.host()
    libraries = tools / host.libraries
    return [
        str(libraries / Path(host.loader).name),
        "--library-path",
        str(libraries),
        str(tools / "usr/bin" / recipe.arch.system),
        *(
            word
            for name in recipe.arch.firmware
            for word in ("-L", str(tools / "usr/share" / name))
        ),
    ]


def version(recipe: Recipe) -> str:
    """Our QEMU's version, refused when it is older than the recipe allows."""
    command = [*binary(recipe), "--version"]
    text = output(command).decode()
    found = re.search(r"version (\d+)\S*", text)
    if not found or int(found[1]) < recipe.qemu_minimum:
        raise UserError(f"QEMU {recipe.qemu_minimum} or newer is needed: {text!r}")
    return found[0].removeprefix("version ")


def _value(path: Path) -> str:
    """A path as the value of a QEMU option, where a comma ends it if not doubled."""
    return str(path).replace(",", ",,")


def _drives(machine: Machine) -> list[str]:
    """Disk arguments: the root first, so that it is the guest's /dev/vda."""
    arguments = _read_only("root", machine.root)
    for i, path in enumerate(machine.virtio_disks):
        arguments += ["-drive", _scratch(machine, path, f"blk{i}")]
        arguments += ["-device", f"virtio-blk-pci,drive=blk{i},serial=scratch-blk{i}"]
    arguments += _read_only("layer", machine.layer)
    if machine.scsi_disks:
        arguments += ["-device", "virtio-scsi-pci"]
    for i, path in enumerate(machine.scsi_disks):
        arguments += ["-drive", _scratch(machine, path, f"scsi{i}")]
        arguments += ["-device", f"scsi-hd,drive=scsi{i},serial=scratch-scsi{i}"]
    return arguments


def write_log(disk: Path) -> Path:
    """Where QEMU logs the writes and flushes of a scratch disk."""
    return disk.with_name(f"{disk.name}.writes")


def _scratch(machine: Machine, path: Path, name: str) -> str:
    """The drive of a scratch disk. Its host may forget it in a crash; where its writes
    are logged, the guest's flushes must reach the log, but not the host's disk."""
    if not machine.log_writes:
        return f"file={_value(path)},if=none,id={name},format=raw,cache=unsafe"
    options = [f"if=none,id={name},cache=writeback,driver=blklogwrites"]
    for child, file in (("file", path), ("log", write_log(path))):
        options += [f"{child}.driver=file,{child}.filename={_value(file)}"]
        options += [f"{child}.cache.no-flush=on"]
    return ",".join(options)


def layer_device(machine: Machine) -> str:
    """The guest's name of the layer: behind the root and the scratch disks."""
    return f"/dev/vd{chr(ord('a') + 1 + len(machine.virtio_disks))}"


def _read_only(name: str, disk: Path | None) -> list[str]:
    """A virtio disk that the guest cannot write, or nothing."""
    if disk is None:
        return []
    drive = f"file={_value(disk)},if=none,id={name},format=raw,readonly=on"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive={name}"]


def _channels(machine: Machine) -> list[str]:
    """Console, verdict and output: each a channel of its own."""
    file = f"file,path={_value(machine.console)}" if machine.console else "null"
    if machine.says:
        file += f",input-path={_value(machine.says)}"
    arguments = ["-chardev", f"{file},id=console", "-serial", "chardev:console"]
    if machine.ports or machine.interactive:
        arguments += ["-device", "virtio-serial-pci"]
    for number, (name, fd) in enumerate(machine.ports.items(), 1):
        arguments += _port(name, number, fd)
    if machine.interactive:
        arguments += ["-chardev", "stdio,id=shell,signal=off"]
        arguments += ["-device", "virtconsole,chardev=shell"]
    return arguments


def _port(name: str, number: int, fd: int | None) -> list[str]:
    device = ["-device", f"virtserialport,chardev={name},name={name}"]
    if fd is None:
        return ["-chardev", f"null,id={name}", *device]
    file = f"file,id={name},path=/dev/fdset/{number},append=on"
    return ["-add-fd", f"fd={fd},set={number}", "-chardev", file, *device]


def _access(share: Share) -> str:
    """How QEMU carries out on the host what the guest does in a share.

    In a mapped share, all that a guest makes is a plain file or a folder of the host:
    owners, modes and kinds (link, device, FIFO, socket) are data, in extended
    attributes, or in files of .virtfs_metadata where the file system has none of users
    (qemu, hw/9pfs/9p-local.c).
    """
    if share.read_only:
        return "security_model=none,readonly=on"
    store = "xattr" if _has_attributes(share.source) else "file"
    return f"security_model=mapped-{store},{MADE}"


def _has_attributes(folder: Path) -> bool:
    """Whether files there can have extended attributes of users."""
    try:
        os.getxattr(folder, "user.virtfs.mode")
    except OSError as error:
        return error.errno != errno.EOPNOTSUPP
    return True


def _shares(machine: Machine) -> list[str]:
    arguments: list[str] = []
    for i, share in enumerate(machine.shares):
        path = f"local,id=share{i},path={_value(share.source)}"
        arguments += ["-fsdev", f"{path},multidevs=remap,{_access(share)}"]
        tag = share.tag or f"share{i}"
        arguments += ["-device", f"virtio-9p-pci,fsdev=share{i},mount_tag={tag}"]
    return arguments


def command(recipe: Recipe, machine: Machine) -> list[str]:
    """The whole QEMU command line; the kernel kills QEMU when we exit."""
    return ends_with_us(signal.SIGKILL, arguments(recipe, machine))


def arguments(recipe: Recipe, machine: Machine) -> list[str]:
    """QEMU and its arguments."""
    arch = recipe.arch
    cpu = "host" if machine.accel == "kvm" else arch.tcg_cpu
    options = f"console={arch.serial} {KERNEL_OPTIONS} {arch.kernel_options}"
    if machine.layer:
        options += f" layer={layer_device(machine)}"
    words = [
        *binary(recipe),
        *("-nodefaults", "-no-reboot", "-display", "none", "-nic", "none"),
        *("-sandbox", SANDBOX),
        *("-M", arch.board),
        *ACCEL[machine.accel],
        *("-cpu", cpu),
        *("-smp", str(machine.cpus), "-m", f"{machine.memory_bytes >> 20}M"),
        *("-kernel", str(machine.kernel), "-initrd", str(machine.initrd)),
        *("-append", f"{options} {machine.kernel_options}"),
        *_drives(machine),
        *_channels(machine),
        *_shares(machine),
    ]
    if machine.saved:
        words += ["-incoming", f"file:{machine.saved}"]
    if machine.monitored:
        words += ["-monitor", "stdio"]
    return words
