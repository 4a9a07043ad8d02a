# SPDX-License-Identifier: GPL-2.0-only
"""near_stacks: pick out of a long log the lines near anything that stacks are made of.

One search over the bytes skips the rest, for in a syslog stacks are rare. In a long log
only what begins a stack counts: lines that look like a frame are of many programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from writestall.log.kernel_reports import SIGNS

# What lines have that a stack, a report, a name or a restart begins with. Each begins
# with a byte that is rare in a log: the search is as fast as these are few.
_BEGIN = (
    rb"Call [Tt]race|INFO: task|COMMAND:|Show (?:Blocked )?State|Future hung "
    rb"|/proc/\d{1,10}/(?:task|stack|comm|cgroup)|,task_memcg=|Linux version "
    rb"|[Cc]ommand line: |-- (?:Re)?[Bb]oot|\[<[0-9a-f]{1,16}>\] "
    rb"|#[01] {1,2}\[[0-9a-f]{8,16}\] "
    rb"|\+0x(?:(?<=schedule\+0x)|(?<=switch_to\+0x))"
)
# What any frame has, in any form, but for what backtrace_symbols(3) prints.
_FRAME = (
    rb"\+[0O][xX](?![0-9a-f]{1,8}(?:\) ?\[0x|\] ))|&#43;0x|\.c:\d{1,6}$"
    rb"|\b__schedule at [0-9a-f]{8}"
    rb"|\((?:\./)?(?:kernel|fs|mm|block|drivers|include|lib|net|arch|io_uring)/"
)
_BEGINS = re.compile(_BEGIN)
_SIGN = re.compile(rb"%b|(?P<frame>%b)" % (_BEGIN, _FRAME), re.MULTILINE)
# What the kernel reports besides. bytes.find() is many times as fast as _SIGN.
_REPORTS = tuple(sign.encode() for sign in SIGNS)
# Lines passed on around a sign: a head of old kernels, a name, fields of a record.
BEFORE, AFTER = 24, 64
# Behind so much of a log frames alone are no sign: it has thousands of lines that only
# look like some. A pasted stack without anything around it is shorter.
LONG_BYTES = 1 << 19
# Lines passed on behind a frame in there, where a stack is longer than AFTER.
FRAME_AFTER = 4
# A line that is longer is cut in two.
MAX_LINE_BYTES = 8 << 20


def near_stacks(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a log of which some may belong to a stack."""
    number, wanted, passed = 1, 0, 0
    before = b""
    for text, is_report in _pieces(chunks):
        at, long = 0, passed > LONG_BYTES
        passed += len(text)
        if is_report:
            lines = [*before.split(b"\n")[:-1], text]
            yield from enumerate(lines, number + 1 - len(lines))
            before, number, wanted, at = b"", number + 1, max(wanted - 1, 0), len(text)
        while at < len(text):
            sign = (_SIGN if wanted or not long else _BEGINS).search(text, at)
            # Lines that still belong to the sign before.
            stop = text.rfind(b"\n", at, sign.start()) + 1 if sign else len(text)
            stop = max(stop, at)
            while wanted and at < stop:
                end = _line_end(text, at)
                yield number, text[at:end]
                number, at, wanted = number + 1, end, wanted - 1
            is_frame = long and sign is not None and sign.lastgroup is not None
            if at < stop and is_frame:
                continue
            if at < stop:
                skipped = text[at:stop]
                number += skipped.count(b"\n")
                before = _last_lines(before + skipped)
                at = stop
            if sign:
                lines = before.split(b"\n")[:-1]
                yield from enumerate(lines, number - len(lines))
                before, wanted = b"", max(wanted, FRAME_AFTER) if is_frame else AFTER
                end = _line_end(text, at)
                yield number, text[at:end]
                number, at = number + 1, end


def _pieces(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """The same text in pieces that end where lines do, and whether one is a line with
    a report."""
    for text in _whole_lines(chunks):
        at = 0
        for start in _reports(text):
            if start > at:
                yield text[at:start], False
            at = _line_end(text, start)
            yield text[start:at], True
        if at < len(text):
            yield text[at:], False


def _reports(text: bytes) -> list[int]:
    """Where the lines with a report begin."""
    found = set()
    for sign in _REPORTS:
        at = text.find(sign)
        while at >= 0:
            found.add(text.rfind(b"\n", 0, at) + 1)
            at = text.find(sign, _line_end(text, at))
    return sorted(found)


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
