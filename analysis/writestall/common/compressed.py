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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from writestall.common.errors import WritestallError

CHUNK_BYTES = 1 << 18
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class DamagedError(WritestallError):
    """Compressed data that ends early or is wrong: what came before it is good."""


class _Pieces(io.RawIOBase):
    """A file of which some bytes have been read already, in pieces as they come: what
    stands before damage is not lost."""

    def __init__(self, file: Any, head: bytes = b"") -> None:
        self._file, self._head = file, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)]
        self._head = self._head[len(buffer) :]
        data += self._file.read1(len(buffer) - len(data))
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


class _Input(NamedTuple):
    """Standard input, decompressed; `raw` is the stream it was made of."""

    raw: Any
    content: Any
    packed: bool


# What has been read of standard input cannot be read again, so it is opened once.
_inputs: list[_Input] = []


def _standard_input() -> _Input:
    raw = sys.stdin.buffer
    if not _inputs or _inputs[-1].raw is not raw:
        content, packed = _decompressed(raw)
        _inputs[:] = [_Input(raw, content, packed)]
    return _inputs[-1]


def _decompressed(file: BinaryIO) -> tuple[BinaryIO, bool]:
    """A file's content, and whether it was compressed."""
    head = file.read(max(len(magic) for magic, _ in _FORMATS))
    whole = io.BufferedReader(_Pieces(file, head), CHUNK_BYTES)
    for magic, decompress in _FORMATS:
        if head.startswith(magic):
            pieces = _Pieces(decompress(whole))
            return cast(BinaryIO, io.BufferedReader(pieces, CHUNK_BYTES)), True
    return cast(BinaryIO, whole), False


@contextmanager
def opened(name: str) -> Iterator[tuple[BinaryIO, bool]]:
    """A file's content by its path, or standard input's by `-`; and whether it was
    compressed."""
    if name == "-":
        found = _standard_input()
        yield found.content, found.packed
        return
    with Path(name).open("rb") as file:
        content, packed = _decompressed(file)
        with content:
            yield content, packed


def head(name: str) -> bytes:
    """The first bytes of the same content; standard input's are still to be read."""
    if name == "-":
        content = _standard_input().content
        return next(_quietly(content.peek(CHUNK_BYTES) for _ in range(1)), b"")
    with opened(name) as (content, _):
        # The first piece may be no more than what told the format.
        return b"".join(islice(_quietly(chunks(content)), 2))


def _quietly(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces that come before compressed data is damaged."""
    try:
        yield from pieces
    except (DamagedError, *_DAMAGE):
        return


def chunks(content: BinaryIO) -> Iterator[bytes]:
    """The content piece by piece; raises DamagedError where decompression fails."""
    read1 = content.read1  # type: ignore[attr-defined]
    return _read(lambda: read1(CHUNK_BYTES))


def lines(content: BinaryIO) -> Iterator[bytes]:
    """The content line by line, as it comes; raises DamagedError as chunks() does."""
    return _read(content.readline)


def _read(more: Callable[[], bytes]) -> Iterator[bytes]:
    while True:
        try:
            data = more()
        except _DAMAGE as error:
            raise DamagedError(f"damaged or cut off: {error or 'early end'}") from None
        if not data:
            return
        yield data
