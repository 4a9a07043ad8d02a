# SPDX-License-Identifier: GPL-2.0-only
"""vmlinux: unpack a Debian kernel to the ELF file, which QEMU boots faster.

An emulated machine needs seconds to unpack its own kernel. QEMU enters an ELF kernel by
its PVH note (hw/i386/x86-common.c, CONFIG_PVH, kernels since 5.0); one without that
note is booted packed.
"""

from __future__ import annotations

import lzma
import struct
import subprocess
from pathlib import Path

from machine import cache
from machine.errors import UserError
from machine.image import Kernel

# Documentation/arch/x86/boot.rst: where the header keeps the number of sectors
# before the protected-mode code, and where in that the packed kernel lies.
SETUP_SECTS_AT, PAYLOAD_AT = 0x1F1, 0x248
# The build appends the unpacked size to the payload (scripts/Makefile.lib,
# size_append).
SIZE_BYTES = 4
PVH_ENTRY = 18  # XEN_ELFNOTE_PHYS32_ENTRY (include/xen/interface/elfnote.h)
PT_NOTE = 4


def _zstd(data: bytes) -> bytes:
    command = ["zstd", "--decompress", "--stdout"]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


UNPACKERS = {b"\xfd7zXZ": lzma.decompress, b"\x28\xb5\x2f\xfd": _zstd}


def unpack(image: bytes) -> bytes | None:
    """The ELF file in a bzImage; None where it is packed in another way."""
    sectors = image[SETUP_SECTS_AT] or 4
    offset, length = struct.unpack_from("<II", image, PAYLOAD_AT)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + length - SIZE_BYTES]
    for magic, unpacker in UNPACKERS.items():
        if payload.startswith(magic):
            return unpacker(payload)
    return None


def enters_by_pvh(elf: bytes) -> bool:
    """Whether a 64-bit ELF file has the note that QEMU needs to enter it."""
    (table,) = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, at, _, _, length, *_ = struct.unpack_from(
            "<IIQQQQQQ", elf, table + i * size
        )
        if kind == PT_NOTE and PVH_ENTRY in _xen_notes(elf, at, length):
            return True
    return False


def _xen_notes(elf: bytes, at: int, length: int) -> set[int]:
    """The types of Xen's notes in a segment of notes."""
    found, end = set(), at + length
    while at < end:
        name_size, text_size, kind = struct.unpack_from("<III", elf, at)
        if elf[at + 12 : at + 16] == b"Xen\0":
            found.add(kind)
        at += 12 + (name_size + 3) // 4 * 4 + (text_size + 3) // 4 * 4
    return found


def build(kernel: Kernel) -> Path:
    """The kernel to boot: unpacked, or packed where it has no PVH note."""

    def write(part: Path) -> None:
        packed = kernel.vmlinuz.read_bytes()
        try:
            elf = unpack(packed)
        except (OSError, subprocess.CalledProcessError, lzma.LZMAError) as error:
            raise UserError(f"{kernel.vmlinuz} cannot be unpacked: {error}") from None
        part.write_bytes(elf if elf and enters_by_pvh(elf) else packed)

    key = cache.digest(kernel.tree.name, kernel.release, Path(__file__))
    return cache.build(f"vmlinux-{kernel.name}", key, write)
