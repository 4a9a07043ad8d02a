# SPDX-License-Identifier: GPL-2.0-only
"""decoding: decode a log's bytes to UTF-8 text, and name what is no text.

Windows and its consoles write UTF-16; kernels, syslog and serial lines write bytes.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Iterable, Iterator

from writestall_base.errors import UserError

# What begins with these bytes, and what to do about it.
_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "an image (PNG): paste the log as text"),
    (b"\xff\xd8\xff", "an image (JPEG): paste the log as text"),
    (b"GIF8", "an image (GIF): paste the log as text"),
    (b"%PDF", "a PDF: copy the log's text out of it"),
    (b"PK\x03\x04", "a zip archive: unpack it and name the log in it"),
    (b"7z\xbc\xaf'\x1c", "a 7z archive: unpack it and name the log in it"),
    (b"LPKSHHRH", "a journal file of systemd: journalctl --file FILE -k"),
    (b"KDUMP   ", "a kernel dump: crash FILE vmlinux, then foreach UN bt"),
    (b"PAGEDUMP", "a Windows dump, no kernel log of Linux"),
    (b"MDMP", "a Windows dump, no kernel log of Linux"),
    (b"SQLite format 3", "a database (SQLite): export the log as text"),
    (b"PERFILE2", "a recording of perf: perf script -i FILE"),
)
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# tar(5): the magic's place in the first header.
_TAR = slice(257, 262)
_ELF_CORE = 4
# Control characters of which a text has less than this share: NULs are where a crash
# cut a log off, in blocks that were allocated and never written.
_CONTROL, _CONTROL_SHARE = bytes(range(9)), 0.3


def text(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text as UTF-8; raises UserError for what is no text."""
    pieces = iter(chunks)
    head = b""
    for piece in pieces:
        head += piece
        if len(head) > _TAR.stop:
            break
    if kind := _kind(head):
        raise UserError(f"this is {kind}")
    name, size = _encoding(head)
    yield from _decoded(head[size:], pieces, name)


def _decoded(head: bytes, pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    if name == "utf-8":
        yield head
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(name)("replace")
    yield decoder.decode(head).encode("utf-8", "replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _encoding(head: bytes) -> tuple[str, int]:
    """The encoding, and how many bytes mark it."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name, len(mark)
    # UTF-16 without its mark: ASCII has a NUL in every other byte.
    half = len(head) // 2
    for name, first in (("utf-16-le", 1), ("utf-16-be", 0)):
        if half and head[first::2].count(0) > 0.8 * half:
            return name, 0
    return "utf-8", 0


def _kind(head: bytes) -> str | None:
    """What this is, where it is no text, and the remedy."""
    if head.startswith(b"\x7fELF"):
        return _elf(head)
    for magic, kind in _KINDS:
        if head.startswith(magic):
            return kind
    if head[_TAR] == b"ustar":
        return "a tar archive: unpack it and name the log in it"
    name, _ = _encoding(head)
    controls = len(head) - len(head.translate(None, _CONTROL))
    if name == "utf-8" and controls > _CONTROL_SHARE * len(head):
        return "binary data, no text of a log"
    return None


def _elf(head: bytes) -> str:
    """elf(5): the type is two bytes at offset 16, in the file's byte order."""
    order = ">" if head[5:6] == b"\x02" else "<"
    kind = struct.unpack_from(f"{order}H", head.ljust(18, b"\0"), 16)[0]
    if kind != _ELF_CORE:
        return "a program or a library, no log"
    # kernel/vmcore_info.c: a note that only a dump of a kernel has.
    if b"VMCOREINFO" in head:
        return "a kernel dump (vmcore): crash FILE vmlinux, then foreach UN bt"
    return (
        "a userspace core: it has no kernel stacks; take /proc/PID/stack of the "
        "process while it hangs"
    )
