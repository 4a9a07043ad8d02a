# SPDX-License-Identifier: GPL-2.0-only
"""recorded_text: read the text that a tool printed about a disk, and say what was used.

From a file or standard input (`-`), compressed by gzip, xz or bzip2 or not.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from labrun.errors import RefusedError
from labrun.progress import say

# Lines passed over that are shown.
SHOWN = 3
_DECOMPRESS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", gzip.decompress),
    (b"\xfd7zXZ\0", lzma.decompress),
    (b"BZh", bz2.decompress),
)


class Text:
    """The lines of a log; counts those that a parser used, and names the others."""

    def __init__(self, path: Path) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self.used = self.passed = 0
        self.directions: Counter[str] = Counter()
        self._bad: list[str] = []
        self._notes: list[str] = []
        self._lines = self._read(path).splitlines()

    def _read(self, path: Path) -> str:
        try:
            stdin = str(path) == "-"
            data = sys.stdin.buffer.read() if stdin else path.read_bytes()
            for magic, decompress in _DECOMPRESS:
                if data.startswith(magic):
                    data = decompress(data)
        except (OSError, EOFError, lzma.LZMAError) as error:
            why = getattr(error, "strerror", None) or error
            raise RefusedError(f"{self.name}: {why}") from None
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
        """Count a line as used, and a delay of this direction where it tells one."""
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
        """Count a line that belongs to the format and tells no delay."""
        self.passed += 1

    def note(self, line: str) -> None:
        """Keep a remark on how the log was taken."""
        self._notes.append(line)

    def refuse(self, why: str, number: int = 0) -> RefusedError:
        """Return the error that names the file, and the line where there is one."""
        return RefusedError(
            f"{self.name}:{number}: {why}" if number else f"{self.name}: {why}"
        )

    def nothing(self, kind: str) -> RefusedError:
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
