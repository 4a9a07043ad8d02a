# SPDX-License-Identifier: GPL-2.0-only
"""vmlinux: unpack a kernel to the ELF file, which QEMU boots faster, and its modules.

An emulated machine needs seconds to unpack its own kernel. QEMU enters an ELF kernel by
its PVH note (hw/i386/x86-common.c, CONFIG_PVH, kernels since 5.0); one without that
note is booted packed.
"""

from __future__ import annotations

import gzip
import lzma
import struct
import zlib
from pathlib import Path

from machine import cache
from machine.commands import output
from machine.image import Kernel
from writestall_base.elf import Elf
from writestall_base.errors import UserError

# Documentation/arch/x86/boot.rst: where the header keeps the number of sectors
# before the protected-mode code, and where in that the packed kernel lies.
SETUP_SECTS_AT, PAYLOAD_AT = 0x1F1, 0x248
# The build appends the unpacked size to the payload (scripts/Makefile.lib,
# size_append), except to gzip's, which ends with it.
SIZE_BYTES = 4
GZIP = b"\x1f\x8b"
PVH_ENTRY = 18  # XEN_ELFNOTE_PHYS32_ENTRY (include/xen/interface/elfnote.h)


def _zstd(data: bytes) -> bytes:
    return output(["zstd", "--decompress", "--stdout"], data)


UNPACKERS = {
    b"\xfd7zXZ": lzma.decompress,
    b"\x28\xb5\x2f\xfd": _zstd,
    GZIP: gzip.decompress,
}
BROKEN = (UserError, EOFError, lzma.LZMAError, zlib.error)


def decompressed(data: bytes) -> bytes | None:
    """What one of UNPACKERS packs; None where it is packed in another way, or not."""
    for magic, unpacker in UNPACKERS.items():
        if data.startswith(magic):
            return unpacker(data)
    return None


def unpack(image: bytes) -> bytes | None:
    """The ELF file in a bzImage; None where it is packed in another way."""
    sectors = image[SETUP_SECTS_AT] or 4
    offset, length = struct.unpack_from("<II", image, PAYLOAD_AT)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + length]
    appended = 0 if payload.startswith(GZIP) else SIZE_BYTES
    return decompressed(payload[: length - appended])


def enters_by_pvh(file: bytes) -> bool:
    """Whether a 64-bit ELF file has the note that QEMU needs to enter it."""
    return any(
        (owner, kind) == (b"Xen\0", PVH_ENTRY)
        for owner, kind, _ in Elf.of_bytes(file).notes()
    )


def build(kernel: Kernel) -> Path:
    """The kernel to boot: unpacked, or packed where it has no PVH note."""

    def write(part: Path) -> None:
        packed = kernel.vmlinuz.read_bytes()
        try:
            unpacked = unpack(packed) if kernel.pvh else None
        except (OSError, *BROKEN) as error:
            raise UserError(f"{kernel.vmlinuz} cannot be unpacked: {error}") from None
        good = unpacked and enters_by_pvh(unpacked)
        part.write_bytes(unpacked if unpacked and good else packed)

    key = cache.digest(kernel.identity, kernel.release, Path(__file__))
    return cache.build(f"vmlinux-{kernel.name}", key, write)
