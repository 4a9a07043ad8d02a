# SPDX-License-Identifier: GPL-2.0-only
"""compressed: read a file or standard input, decompressed where it is compressed.

The first bytes decide, not the name: gzip (RFC 1952), xz, bzip2 and Zstandard
(RFC 8878), which Python does not read before 3.14: zstd(1) does. A few MiB may unpack
to terabytes, so what is read of them has a bound.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import select
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from writestall_base.errors import UserError

CHUNK_BYTES = 1 << 18
# A line that is longer is read in parts.
MOST_LINE_BYTES = 1 << 20
MIB = 1 << 20
# Up to there the ratio does not matter: a short log may repeat itself.
ANY_RATIO_BYTES = 64 * MIB
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class DamagedError(UserError):
    """Compressed data that ends early or is wrong: what came before it is good."""


class TooLargeError(UserError):
    """Compressed data that unpacks to more than its bound."""


class Bound(NamedTuple):
    """How much compressed data may unpack to: bytes in all, and times its own size.

    Events were seen to unpack to 20 times their size; gzip reaches 1032, xz 7000.
    """

    most_bytes: int = 8192 * MIB
    most_ratio: int | None = 250

    @staticmethod
    def of(most_mib: int | None) -> Bound:
        """The user's bound, for any ratio; None: the default."""
        return DEFAULT if most_mib is None else Bound(most_mib * MIB, None)

    def check(self, packed: int, unpacked: int) -> None:
        """Raises TooLargeError where so many bytes have become too many."""
        what = ""
        if unpacked > self.most_bytes:
            what = f"more than {self.most_bytes // MIB} MiB"
        elif self.most_ratio and unpacked > max(
            ANY_RATIO_BYTES, packed * self.most_ratio
        ):
            what = f"more than {self.most_ratio} times its size"
        if what:
            raise TooLargeError(
                f"unpacks to {what}; --unpack-mib N allows N MiB, or unpack it first"
            )


DEFAULT = Bound()


class _Pieces(io.RawIOBase):
    """A file of which some bytes have been read already, in pieces as they come: what
    stands before damage is not lost."""

    def __init__(self, file: Any, head: bytes = b"") -> None:
        self._file, self._head = file, head
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)]
        self._head = self._head[len(buffer) :]
        data += self._file.read1(len(buffer) - len(data))
        buffer[: len(data)] = data
        self.bytes += len(data)
        return len(data)


class _Bounded(_Pieces):
    """What is unpacked of a file, up to a bound."""

    def __init__(self, unpacked: Any, packed: _Pieces, bound: Bound) -> None:
        super().__init__(unpacked)
        self._packed, self.bound = packed, bound

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self.bound.check(self._packed.bytes, self.bytes)
        return count


class _Zstd(io.RawIOBase):
    """What zstd(1) makes of a file. One thread feeds it and reads it: to start another
    waits for ever where memory is short."""

    def __init__(self, file: BinaryIO) -> None:
        program = shutil.which("zstd")
        if program is None:
            raise UserError("compressed with zstd, and zstd is not installed")
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            [program, "-dcq"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        assert self._child.stdin and self._child.stdout
        self._into, self._output = self._child.stdin, self._child.stdout
        os.set_blocking(self._into.fileno(), False)
        self._file, self._left = file, memoryview(b"")
        self._both = select.poll()
        self._both.register(self._output, select.POLLIN)
        self._both.register(self._into, select.POLLOUT)

    def _feed(self) -> None:
        """As much as it takes now; at the end of the file, nothing any more."""
        self._left = self._left or memoryview(self._file.read(CHUNK_BYTES))
        try:
            written = os.write(self._into.fileno(), self._left)
        except BrokenPipeError:
            written = 0  # zstd has ended; its status is read with its output
        self._left = self._left[written:]
        if not written:
            self._into.close()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._into.closed:
            if self._output.fileno() in dict(self._both.poll()):
                break
            self._feed()
        data = os.read(self._output.fileno(), len(buffer))
        if not data and self._child.wait():
            raise EOFError
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._into.close()
            self._output.close()
            self._child.wait()
        super().close()


_FORMATS: tuple[tuple[bytes, Callable[[BinaryIO], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
    (b"\x28\xb5\x2f\xfd", lambda file: io.BufferedReader(_Zstd(file))),
)


MAGIC_BYTES = max(len(magic) for magic, _ in _FORMATS)


def is_packed(head: bytes) -> bool:
    """Whether a file that begins so is compressed."""
    return head.startswith(tuple(magic for magic, _ in _FORMATS))


class _Input(NamedTuple):
    """Standard input, decompressed; `raw` is the stream it was made of."""

    raw: Any
    content: Any
    bounded: _Bounded | None


# What has been read of standard input cannot be read again, so it is opened once.
_inputs: list[_Input] = []


def _standard_input(bound: Bound) -> _Input:
    raw = sys.stdin.buffer
    if not _inputs or _inputs[-1].raw is not raw:
        _inputs[:] = [_Input(raw, *_decompressed(raw, bound))]
    found = _inputs[-1]
    if found.bounded:
        found.bounded.bound = bound
    return found


def _decompressed(file: BinaryIO, bound: Bound) -> tuple[BinaryIO, _Bounded | None]:
    """A file's content, and what unpacks it where it is compressed."""
    head = file.read(MAGIC_BYTES)
    pieces = _Pieces(file, head)
    whole = io.BufferedReader(pieces, CHUNK_BYTES)
    for magic, decompress in _FORMATS:
        if head.startswith(magic):
            bounded = _Bounded(decompress(whole), pieces, bound)
            return cast(BinaryIO, io.BufferedReader(bounded, CHUNK_BYTES)), bounded
    return cast(BinaryIO, whole), None


@contextmanager
def opened(name: str, bound: Bound) -> Iterator[tuple[BinaryIO, bool]]:
    """A file's content by its path, or standard input's by `-`; and whether it was
    compressed. Reading raises TooLargeError beyond the bound."""
    if name == "-":
        found = _standard_input(bound)
        yield found.content, found.bounded is not None
        return
    with Path(name).open("rb") as file:
        content, bounded = _decompressed(file, bound)
        with content:
            yield content, bounded is not None


def head(name: str) -> bytes:
    """The first bytes of the same content; standard input's are still to be read."""
    if name == "-":
        content = _standard_input(DEFAULT).content
        return next(_quietly(content.peek(CHUNK_BYTES) for _ in range(1)), b"")
    with opened(name, DEFAULT) as (content, _):
        # The first piece may be no more than what showed the format.
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
    return _read(lambda: content.readline(MOST_LINE_BYTES))


def _read(more: Callable[[], bytes]) -> Iterator[bytes]:
    while True:
        try:
            data = more()
        except _DAMAGE as error:
            raise DamagedError(f"damaged or cut off: {error or 'early end'}") from None
        if not data:
            return
        yield data
