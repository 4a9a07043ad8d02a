# SPDX-License-Identifier: GPL-2.0-only
"""near_stacks: pick out of a long log the lines near anything that stacks are made of.

One search over the bytes skips the rest, for in a syslog stacks are rare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# What lines of a report, of a stack in any form, of a name or a restart have. Each
# begins with a byte that is rare in a log: the search is as fast as these are few.
# What backtrace_symbols(3) prints is none.
_SIGN = re.compile(
    rb"\+[0O][xX](?![0-9a-f]{1,8}(?:\) ?\[0x|\] ))|&#43;0x|Call [Tt]race|INFO: task"
    rb"|COMMAND:|Show (?:Blocked )?State|Future hung "
    rb"|/proc/\d{1,10}/(?:task|stack|comm|cgroup)|,task_memcg="
    rb"|\((?:\./)?(?:kernel|fs|mm|block|drivers|include|lib|net|arch|io_uring)/"
    rb"|\.c:\d{1,6}$"
    rb"|Linux version |[Cc]ommand line: |-- (?:Re)?[Bb]oot",
    re.MULTILINE,
)
# Lines passed on around a sign: a head of old kernels, a name, fields of a record.
BEFORE, AFTER = 24, 64
# A line that is longer is cut in two.
MAX_LINE_BYTES = 8 << 20


def near_stacks(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a log of which some may belong to a stack."""
    number, wanted = 1, 0
    before = b""
    for text in _whole_lines(chunks):
        at = 0
        while at < len(text):
            sign = _SIGN.search(text, at)
            # Lines that still belong to the sign before.
            stop = text.rfind(b"\n", at, sign.start()) + 1 if sign else len(text)
            stop = max(stop, at)
            while wanted and at < stop:
                end = _line_end(text, at)
                yield number, text[at:end]
                number, at, wanted = number + 1, end, wanted - 1
            if at < stop:
                skipped = text[at:stop]
                number += skipped.count(b"\n")
                before = _last_lines(before + skipped)
                at = stop
            if sign:
                lines = before.split(b"\n")[:-1]
                yield from enumerate(lines, number - len(lines))
                before, wanted = b"", AFTER
                end = _line_end(text, at)
                yield number, text[at:end]
                number, at = number + 1, end


def _line_end(text: bytes, at: int) -> int:
    return (text.find(b"\n", at) + 1) or len(text)


def _last_lines(text: bytes) -> bytes:
    """Not more than BEFORE lines of it."""
    at = len(text)
    for _ in range(BEFORE + 1):
        at = text.rfind(b"\n", 0, at)
        if at < 0:
            return text
    return text[at + 1 :]


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text in pieces that end where lines do."""
    rest: list[bytes] = []
    held = 0
    for chunk in chunks:
        if b"\r" in chunk and b"\n" not in chunk:
            chunk = chunk.replace(b"\r", b"\n")
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest.append(chunk)
            held += len(chunk)
            if held < MAX_LINE_BYTES:
                continue
            chunk, end = b"\n", 1
        yield b"".join((*rest, chunk[:end]))
        rest, held = [chunk[end:]], len(chunk) - end
    if any(rest):
        yield b"".join(rest)
