# SPDX-License-Identifier: GPL-2.0-only
"""initramfs: pack a kernel's modules and our init into an initramfs."""

from __future__ import annotations

from pathlib import Path

from machine import cache
from machine.image import Kernel
from machine.recipe import VM
from machine.vmlinux import decompressed
from writestall_base.errors import UserError

# Modules, loaded with their dependencies from modules.dep; built-in ones are skipped.
# The other two groups need `bus`; `root` reaches the root disk, in the order of
# loading; `rest` (ports, shared folders, the SCSI disk, configfs) loads in parallel.
MODULES = {
    "bus": ("virtio_pci",),
    "root": ("crc32c_generic", "virtio_blk", "ext4", "overlay"),
    "rest": (
        "virtio_console",
        "9p",
        "9pnet_virtio",
        "virtio_scsi",
        "sd_mod",
        "configfs",
    ),
}
# 6.12's ext4 asks the crypto API for crc32c by name (fs/ext4/super.c), which
# modules.dep does not say; later kernels have it built in.
IF_PRESENT = ("crc32c_generic",)
DIRECTORIES = (
    *("bin", "dev", "proc", "sys", "modules"),
    *("lower", "layer", "upper", "root"),
)
# The kernel hands options that it does not know to init, as variables
# (init/main.c, unknown_bootoption()).
PROBE = "probe=1"  # say that you run, and end
WAIT = "waits=1"  # say BOOTED on the console, and wait there for a line
BOOTED = "init: the kernel has booted"
S_IFDIR, S_IFREG = 0o040000, 0o100000


def _entry(name: str, data: bytes, mode: int, inode: int) -> bytes:
    """One file in cpio's newc format (Documentation/driver-api/early-userspace/
    buffer-format.rst): 13 eight-digit hex fields, name and data padded to 4."""
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    head = header + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def archive(files: dict[str, bytes], directories: tuple[str, ...] = ()) -> bytes:
    """A cpio archive of executable files; names are relative to the root."""
    entries = [(name, b"", S_IFDIR | 0o755) for name in directories]
    entries += [(name, data, S_IFREG | 0o755) for name, data in files.items()]
    body = b"".join(_entry(*entry, inode=i) for i, entry in enumerate(entries, 1))
    return body + _entry("TRAILER!!!", b"", 0, 0)


def _needs(kernel: Kernel) -> dict[str, list[str]]:
    """Module name to the files to load for it, furthest need first."""
    needs: dict[str, list[str]] = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        path, _, dependencies = line.partition(":")
        needs[_name(path)] = [*reversed(dependencies.split()), path]
    return needs


def _name(path: str) -> str:
    return Path(path).name.split(".")[0].replace("-", "_")


def _load_order(kernel: Kernel) -> dict[str, list[str]]:
    """Per group, the module files in the order they can be loaded."""
    needs = _needs(kernel)
    builtin = (kernel.modules / "modules.builtin").read_text()
    seen: set[str] = set()
    order: dict[str, list[str]] = {}
    for group, names in MODULES.items():
        order[group] = []
        for name in names:
            there = name in needs or f"/{name}.ko" in builtin
            if not there and name not in IF_PRESENT:
                raise UserError(f"kernel {kernel.release} has no module {name}")
            fresh = [path for path in needs.get(name, []) if path not in seen]
            order[group] += fresh
            seen.update(fresh)
    return order


def _key(kernel: Kernel, script: Path, order: dict[str, list[str]]) -> str:
    """The key of an initramfs; a tree's modules change without its vmlinux."""
    of_kernel = (kernel.identity, kernel.release, script, Path(__file__))
    packed = (kernel.modules / path for paths in order.values() for path in paths)
    return cache.digest(*of_kernel, str(order), *packed)


def build(kernel: Kernel) -> Path:
    """The initramfs of one kernel, cached by its content."""
    script = VM / "init.sh"
    order = _load_order(kernel)

    def write(part: Path) -> None:
        files = {
            "init": script.read_bytes(),
            "bin/busybox": (kernel.tree / "usr/bin/busybox").read_bytes(),
        }
        for group, paths in order.items():
            for path in paths:
                data = (kernel.modules / path).read_bytes()
                files[f"modules/{_name(path)}.ko"] = decompressed(data) or data
            files[f"modules/{group}"] = "".join(f"{_name(p)}\n" for p in paths).encode()
        part.write_bytes(archive(files, DIRECTORIES))

    key = _key(kernel, script, order)
    return cache.build(f"initramfs-{kernel.name}", key, write)
