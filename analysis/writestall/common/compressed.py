# SPDX-License-Identifier: GPL-2.0-only
"""compressed: read a file or standard input, decompressed where it is compressed.

The first bytes tell the format, not the name: gzip (RFC 1952), xz, bzip2 and Zstandard
(RFC 8878), which Python does not read before 3.14: zstd(1) does.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from writestall.common.errors import WritestallError

CHUNK_BYTES = 1 << 18


class DamagedError(WritestallError):
    """Compressed data that ends early or is wrong: what came before it is good."""


class _Rejoined(io.RawIOBase):
    """A file whose first bytes have been read already."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._file.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


class _Zstd(io.RawIOBase):
    """What zstd(1) makes of a file."""

    def __init__(self, file: BinaryIO) -> None:
        program = shutil.which("zstd")
        if program is None:
            raise WritestallError("compressed with zstd, and zstd is not installed")
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            [program, "-dcq"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        threading.Thread(target=self._feed, args=(file,), daemon=True).start()

    def _feed(self, file: BinaryIO) -> None:
        assert self._child.stdin
        try:
            with self._child.stdin as into:
                shutil.copyfileobj(file, into, CHUNK_BYTES)
        except OSError:
            # zstd has ended; its status is read with its output.
            return

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        assert self._child.stdout
        data = self._child.stdout.read(len(buffer))
        if not data and self._child.wait():
            raise EOFError
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed and self._child.stdout:
            self._child.stdout.close()
            self._child.wait()
        super().close()


_FORMATS: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
    (b"\x28\xb5\x2f\xfd", lambda file: io.BufferedReader(_Zstd(file))),
)


@contextmanager
def opened(name: str) -> Iterator[tuple[BinaryIO, bool]]:
    """A file's content by its path, or standard input's by `-`; and whether it was
    compressed."""
    file = sys.stdin.buffer if name == "-" else Path(name).open("rb")  # noqa: SIM115
    try:
        head = file.read(max(len(magic) for magic, _ in _FORMATS))
        whole = io.BufferedReader(_Rejoined(head, file), CHUNK_BYTES)
        for magic, decompress in _FORMATS:
            if head.startswith(magic):
                with decompress(whole) as content:
                    yield content, True
                return
        yield whole, False
    finally:
        if name != "-":
            file.close()


def head(name: str) -> bytes:
    """The first bytes of the same content, which is still to be read after that.

    Of a compressed standard input there may be none: only so much of it is at hand.
    """
    if name == "-":
        stdin: Any = sys.stdin.buffer
        first = bytes(stdin.peek(CHUNK_BYTES))
        for magic, decompress in _FORMATS[:-1]:
            if first.startswith(magic):
                return next(_quietly(decompress(io.BytesIO(first))), b"")
        return first
    with opened(name) as (content, _):
        # The first piece may be no more than what told the format.
        return b"".join(islice(_quietly(content), 2))


def _quietly(content: BinaryIO) -> Iterator[bytes]:
    try:
        yield from chunks(content)
    except DamagedError:
        return


def chunks(content: BinaryIO) -> Iterator[bytes]:
    """The content piece by piece; raises DamagedError where decompression fails."""
    while True:
        try:
            data = content.read1(CHUNK_BYTES)  # type: ignore[attr-defined]
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise DamagedError(f"damaged or cut off: {error or 'early end'}") from None
        if not data:
            return
        yield data
