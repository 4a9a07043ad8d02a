# SPDX-License-Identifier: GPL-2.0-only
"""recorded_text: read the text that a tool printed about a disk, and say what was used.

From a file or standard input (`-`), compressed by gzip, xz or bzip2 or not. It is kept
in memory, so what it unpacks to has a bound.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from writestall_base.errors import UserError
from writestall_base.progress import say

# Lines passed over that are shown.
SHOWN = 3
MIB = 1 << 20
UNPACK_MIB = 1024
_UNPACKED: tuple[tuple[bytes, Callable[[BytesIO], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
)


class Text:
    """The lines of a log; counts those that a parser used, and names the others."""

    def __init__(self, path: Path, most_mib: int = UNPACK_MIB) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self.used = self.passed = 0
        self.directions: Counter[str] = Counter()
        self._bad: list[str] = []
        self._notes: list[str] = []
        self._lines = self._read(path, most_mib).splitlines()

    def _read(self, path: Path, most_mib: int) -> str:
        try:
            stdin = str(path) == "-"
            data = sys.stdin.buffer.read() if stdin else path.read_bytes()
            for magic, unpacked in _UNPACKED:
                if data.startswith(magic):
                    data = unpacked(BytesIO(data)).read(most_mib * MIB + 1)
                    break
            if len(data) > most_mib * MIB:
                raise self.refuse(
                    f"more than {most_mib} MiB, unpacked; --unpack-mib N allows N"
                )
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            why = getattr(error, "strerror", None) or error
            raise UserError(f"{self.name}: {why}") from None
        return data.decode("utf-8", "replace")

    @property
    def whole(self) -> str:
        """The text itself."""
        return "\n".join(self._lines)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line that is not blank, with its number."""
        rows = enumerate(self._lines, 1)
        return ((number, line) for number, line in rows if line.strip())

    def use(self, direction: str = "") -> None:
        """Count a line as used, and a delay of this direction where it has one."""
        self.used += 1
        if direction:
            self.directions[direction] += 1

    def bad(self, number: int, line: str) -> None:
        """Count a line as passed over, for it is not what is expected there."""
        self.passed += 1
        if len(self._bad) < SHOWN:
            self._bad.append(
                f"{self.name}:{number}: passed over: {line.strip()[:60]!r}"
            )

    def skip(self) -> None:
        """Count a line that belongs to the format and has no delay."""
        self.passed += 1

    def note(self, line: str) -> None:
        """Keep a remark on how the log was taken."""
        self._notes.append(line)

    def refuse(self, why: str, number: int = 0) -> UserError:
        """Return the error that names the file, and the line where there is one."""
        return UserError(
            f"{self.name}:{number}: {why}" if number else f"{self.name}: {why}"
        )

    def nothing(self, kind: str) -> UserError:
        """Return the error for a text without delays; it names the first bad line."""
        first = f"; {self._bad[0]}" if self._bad else ""
        return self.refuse(f"fewer than 2 delays, not a log of {kind}{first}")

    def report(self) -> None:
        """Print what was used, and the first lines that were not."""
        for line in [*self._bad, *self._notes]:
            say(f"delay-table: {line}")
        said = ", ".join(f"{name} {count}" for name, count in self.directions.items())
        say(
            f"delay-table: {self.name}: {self.used} lines used, {self.passed} passed "
            f"over{f' ({said})' if said else ''}"
        )
