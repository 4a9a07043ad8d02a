# SPDX-License-Identifier: GPL-2.0-only
"""snapshot: start a machine in the state that one of its shape had after its boot.

An emulated kernel boots in seconds of the host's CPU time, the same for every machine
of a shape. So the first such machine is saved when its init has begun, and later ones
go on from there (QEMU, docs/devel/migration/main.rst, the `file` transport). No driver
of a disk, a share or a port is loaded by then: a guest sees those of its own machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from machine import cache, initramfs, qemu, wakes
from machine.recipe import Recipe
from writestall_base.errors import UserError

# Shares are filled up to a multiple of this, so that there are few shapes.
SHARES = 6
# drivers/block/virtio_blk.c virtblk_probe() reads a disk's size. Built in, it has found
# the empty disks; 4.4, 4.9, 6.12 and 7.2 then cannot mount those that replace them.
DISK_DRIVER = "virtio_blk"
SAVE_LIMIT_S = 300.0
WATCHED_S = 0.05
DISK_BYTES = 1 << 20
# QEMU would send 128 MiB/s (migration/options.c).
COMMANDS = (
    "migrate_set_parameter max-bandwidth 100G\nmigrate {to}\ninfo migrate\nquit\n"
)
SAVED = "tatus: completed"  # what `info migrate` says; a full disk leaves a part
# The console's buffer of input is part of the state: a line that QEMU reads before it
# loads that is lost. It reads at most a FIFO of 16 bytes (hw/char/serial.c).
GO = "\n" * 64


def started(recipe: Recipe, machine: qemu.Machine, folder: Path) -> qemu.Machine:
    """That machine, to go on from the state of its shape; where there is none and none
    can be saved, as it was.

    `folder` is for files that it needs while it runs. KVM boots in less time than a
    state takes to load; at a terminal, the console's input is a person's.
    """
    has_seen_disks = recipe.own and recipe.own.has_built_in(DISK_DRIVER)
    if machine.accel == "kvm" or machine.interactive or has_seen_disks:
        return machine
    options = f"{machine.kernel_options} {initramfs.WAIT}"
    waiting = _filled(replace(machine, kernel_options=options))
    try:
        saved = _state(recipe, waiting)
    except UserError as error:
        print(f"vm: {error}; it boots without", file=sys.stderr)
        return machine
    go = folder / "go"
    go.write_text(GO)
    return replace(waiting, saved=saved, says=go)


def _filled(machine: qemu.Machine) -> qemu.Machine:
    """With shares that nobody mounts, up to the number of its shape."""
    missing = -len(machine.shares) % SHARES
    empty = replace(machine.shares[0], tag="")
    return replace(machine, shares=(*machine.shares, *[empty] * missing))


def _empty(machine: qemu.Machine) -> qemu.Machine:
    """A machine of the same shape, with files of fixed names below its own folder."""
    folder = Path("share")
    shares = (qemu.Share(folder, "", True, tag=one.tag) for one in machine.shares)
    return replace(
        machine,
        root=machine.root and Path("root"),
        layer=machine.layer and Path("layer"),
        virtio_disks=tuple(Path(f"blk{i}") for i in range(len(machine.virtio_disks))),
        scsi_disks=tuple(Path(f"scsi{i}") for i in range(len(machine.scsi_disks))),
        log_writes=False,
        console=Path("console"),
        shares=tuple(shares),
        ports=dict.fromkeys(machine.ports),
        monitored=True,
    )


def _state(recipe: Recipe, machine: qemu.Machine) -> Path:
    """The saved state of that shape; raises UserError where it cannot be saved.

    Its key is the command that makes it: the names of a machine's own files are not in
    it, and those of the kernel and QEMU lie in the cache under digests.
    """
    empty = _empty(machine)
    key = cache.digest(*qemu.arguments(recipe, empty), Path(__file__))
    done = cache.build("booted", key, lambda part: _save(recipe, empty, part))
    cache.prune("booted", done)
    return done


def _save(recipe: Recipe, empty: qemu.Machine, part: Path) -> None:
    """Boot that machine, and save it when it waits."""
    with _running(recipe, empty) as (process, console):
        _await_boot(process, console)
        try:
            commands = COMMANDS.format(to=_quoted(f"file:{part}"))
            said, _ = process.communicate(commands, SAVE_LIMIT_S)
        except subprocess.TimeoutExpired:
            said = f"nothing in {SAVE_LIMIT_S:.0f} s"
    if process.returncode or SAVED not in said or not part.exists():
        part.unlink(missing_ok=True)  # the disk may be full
        raise UserError(f"QEMU saved no booted machine: {said.strip()[-200:]!r}")


def _quoted(text: str) -> str:
    """A string of QEMU's monitor (monitor/hmp.c, get_str())."""
    escaped = text.replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'


@contextmanager
def _running(
    recipe: Recipe, empty: qemu.Machine
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """QEMU in a folder with the files that _empty() names, and its console."""
    with tempfile.TemporaryDirectory(prefix="writestall-") as name:
        folder = Path(name)
        (folder / "share").mkdir()
        disks = (empty.root, empty.layer, *empty.virtio_disks, *empty.scsi_disks)
        for disk in filter(None, disks):
            (folder / disk).touch()
            os.truncate(folder / disk, DISK_BYTES)
        console = folder / "console"
        console.touch()
        with subprocess.Popen(
            qemu.command(recipe, empty),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                yield process, console
            finally:
                process.kill()


def _await_boot(process: subprocess.Popen[str], console: Path) -> None:
    """Return when the console says that init waits; raises UserError if it does not."""
    until_s = time.monotonic() + SAVE_LIMIT_S
    while initramfs.BOOTED not in console.read_text(errors="replace"):
        if wakes.ended(process, WATCHED_S) or time.monotonic() > until_s:
            raise UserError("no machine of this shape booted to be saved")
