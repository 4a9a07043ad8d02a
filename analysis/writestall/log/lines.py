# SPDX-License-Identifier: GPL-2.0-only
"""lines: split a line of a log into who printed it, and what the kernel said.

In front of the kernel's words stand a mail's quoting, the date, host and tag of
syslog, priority, time and CONFIG_PRINTK_CALLER's task or CPU (kernel/printk/printk.c,
info_print_prefix()), or the fields of /dev/kmsg (Documentation/ABI/testing/dev-kmsg).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

MAX_PREFIX_CHARS = 200


class Line(NamedTuple):
    """One line: `body` is what the kernel printed.

    `host` is empty where the line does not name it; `caller` is `T143` or `C0`.
    `prefix` is what the kernel prints in front itself: priority, time, caller. `width`
    is that of the whole line.
    `marked`: whether there was any prefix of a kernel log: a line without one in
    a log with them goes on where the line before stopped. `before` stands in front of
    the prefix: a mail's quoting, the date, host and tag of syslog.
    """

    host: str
    caller: str
    body: str
    marked: bool
    prefix: str = ""
    width: int = 0
    before: str = ""


_QUOTED = re.compile(r"[>\s|]{0,16}")
# The tag of syslog (RFC 3164), of busybox behind a facility, and of RFC 5424.
_TAG = re.compile(r"\bkernel(?:\[\d{1,7}\])?(?::| - -(?: -)?(?= ))")
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_FACILITY = re.compile(r"(?:kern|user|syslog|local\d)\.\w{1,8}")
# No host: a time, a year, a weekday's or a time zone's name, dmesg's facility.
_NO_HOST = re.compile(r"[\d:.,T+Z-]{4,40}|UTC|GMT|kern|:\w{1,8}|[\W_]{1,8}")
# dmesg -x: facility and level. Android's logcat: a time, two numbers, level, tag.
_LEVEL = re.compile(
    r"(?:[a-z]{3,8}\s{0,8}:[a-z]{3,7}\s{0,8}"
    r"|[\d-]{5,10} [\d:.]{8,15}(?:\s{1,5}\d{1,7}){2} [VDIWEF] \w{4,8}\s{0,8}): (?=\[)"
)
# pdsh, clush and grep put the host or the file before the kernel's own time.
_TITLED = re.compile(
    r"(?P<host>(?!kern|[\w./@-]{0,64}/proc/)[\w./@-]{1,128})[:-]\s{0,4}"
    r"(?=(?:<\d{1,3}>)?\[\s{0,8}\d{1,12}\.|\[<[0-9a-f]{1,16}>\] )"
)
_KMSG = re.compile(
    r"\d{1,4},\d{1,20},\d{1,20},[-c](?:,caller=(?P<caller>[TC]\d{1,10}))?[^;]{0,64};"
)
_OWN = re.compile(
    r"\s{0,8}(?:<\d{1,3}>)?(?:\s{0,8}\[[ \d.:a-zA-Z+-]{1,32}\]){0,3}\s{0,8}"
)
_STAMP = re.compile(r"<\d{1,3}>|\[\s{0,8}\+?\d{1,12}\.\d|\[\w{3} [\w ]{1,8}\d\d:\d\d")
_CALLER = re.compile(r"\[\s{0,8}(?P<caller>[TC]\d{1,10})\s{0,2}\]")


# RFC 3164 with the tag of a program; the kernel's is no part of a line's body.
_PROGRAM = re.compile(
    r"\w{3} [ \d]\d \d\d:\d\d:\d\d \S{1,64} [\w./-]{1,64}(?:\[\d{1,7}\])?:"
)


def of_another_program(line: Line) -> bool:
    """Whether a line of a syslog is another program's than the kernel."""
    return not line.marked and _PROGRAM.match(line.body) is not None


_PROMPT = re.compile(
    r"\[?[\w.-]{1,32}@(?P<host>[\w.-]{1,64})(?:[ :][^#$\]]{0,80})?\]?\s?[#$%] "
    r"|(?P<host2>[A-Za-z][\w.-]{0,63}):[~/][^#$\s]{0,80} ?[#$%] (?=\S)"
)


def prompt_host(body: str) -> str | None:
    """The host in a shell's prompt: `[root@host ~]# `, `user@host:~$ `, `host:~ # `."""
    match = _PROMPT.match(body)
    return (match["host"] or match["host2"]) if match else None


def split(text: str) -> Line:
    """The parts of a line."""
    at = _QUOTED.match(text).end()  # type: ignore[union-attr]
    host, tagged = "", False
    if "kernel" in text[:MAX_PREFIX_CHARS] and (
        tag := _TAG.search(text, at, MAX_PREFIX_CHARS)
    ):
        host, at, tagged = _host(text[at : tag.start()]), tag.end(), True
    if not tagged and text[at : at + 1] not in "[<":
        if level := _LEVEL.match(text, at):
            at = level.end()
        elif title := _TITLED.match(text, at):
            host, at = title["host"], title.end()
        elif kmsg := _KMSG.match(text, at):
            who = kmsg["caller"] or ""
            return Line("", who, text[kmsg.end() :], True, kmsg[0])
    own = _OWN.match(text, at)
    end = own.end() if own else at
    prefix = text[at:end]
    caller = _CALLER.search(prefix)
    marked = tagged or caller is not None or _STAMP.search(prefix) is not None
    who = caller["caller"] if caller else ""
    return Line(host, who, text[end:], marked, prefix, len(text), text[:at])


# Lines of one second have the same words there.
@lru_cache(maxsize=1024)
def _host(before: str) -> str:
    """The host in what stands before syslog's tag: the word behind the time."""
    words = before.split()
    while words and _FACILITY.fullmatch(words[-1]):
        words.pop()
    if not words or _NO_HOST.fullmatch(words[-1]) or _TIME.search(words[-1]):
        return ""
    return words[-1] if any(_TIME.search(word) for word in words[:-1]) else ""
