# SPDX-License-Identifier: GPL-2.0-only
"""unreadable: name a text that is no kernel log with stacks, and what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

SAMPLE_BYTES = 1 << 20

# Offsets with letters for digits (`+Oxl3/0x2O`) and brackets for `<`.
_MISREAD = re.compile(
    r"\w\s?\+\s?[O0oQ][xX%*]\s?[0-9a-fA-F]*[g-zG-Z|][\w|]*|\w\+O[xX][\w|]+|/O[xX][\w|]+"
)
_SUM = (
    "{}: a sum over time, in which no task waits for another; while it hangs, "
    "echo w > /proc/sysrq-trigger, or record the host (writestall record)"
)
_KINDS: tuple[tuple[str, str], ...] = (
    (
        r"^\s+-\s+\S.{0,24} \(\d{1,10}\)\s*\n\s+\d+\s*$",
        _SUM.format("the output of offcputime or profile (BCC)"),
    ),
    (
        r"^[^\s;][^;\n]{0,60}(?:;[^;\n]{1,200}){2,200} \d{1,18}$",
        _SUM.format("folded stacks"),
    ),
    (
        r"^Attach(?:ing|ed) \d{1,6} probes?|^@\w{0,60}\[[^\]\n]{0,120}$",
        _SUM.format("the output of bpftrace"),
    ),
    (
        r"^\s{1,8}=> [\w.]{2,80}(?:\+0x[0-9a-f]+)?.{0,40}$|^# tracer: ",
        "the output of ftrace (trace-cmd): samples, in which no task waits for "
        "another; while it hangs, echo w > /proc/sysrq-trigger, or record the host "
        "(writestall record)",
    ),
    (
        r"^# Samples: .{1,20} of event |^# Overhead\b|\[k\] [\w.]{2,80}\s*$",
        _SUM.format("the output of perf report"),
    ),
    (
        r"^\s*[\d.]+ \(\s*[\d.]* ?(?:ms)?\s*\): \S{1,20}/\d{1,10} \w+\(",
        "the output of perf trace: it shows system calls, not where they sleep; take "
        "/proc/PID/stack of the process",
    ),
    (
        r"^TIME(?:\(s\))?\s.{0,60}\bLAT\(",
        "a list of I/O or calls with their latency (biosnoop, ext4slower ...): it has "
        "no stacks; while it hangs, echo w > /proc/sysrq-trigger",
    ),
    (
        r"^G:  s:\w\w n:\d",
        "a dump of glocks: it names holders and waiters, without stacks; take echo t > "
        "/proc/sysrq-trigger beside it",
    ),
    (
        r'^\s*\{"ev":',
        "events of a tracer: writestall explain FILE reads them",
    ),
    (
        r"^#\d{1,3}\s{1,4}(?:0x[0-9a-f]{6,16} in )?[\w:~<>?@.]{1,200} ?\(.*\)",
        "a userspace backtrace (gdb): it has no kernel stacks; take /proc/PID/stack of "
        "the process",
    ),
    (
        r"\*\*\* glibc detected|^\S{0,200}\([\w.$]*\+0x[0-9a-f]+\) ?\[0x",
        "a userspace backtrace of glibc: it has no kernel stacks; take "
        "/proc/PID/stack of the process",
    ),
    (
        r"^goroutine \d{1,9} \[",
        "a dump of goroutines (Go): it has no kernel stacks; take "
        "/proc/PID/task/*/stack of the process",
    ),
    (
        r"^\s{1,8}at [\w.$/]{1,200}\(.{1,100}\)\s{0,4}$|^Full thread dump",
        "a thread dump (Java): it has no kernel stacks; take /proc/PID/task/*/stack of "
        "the process",
    ),
    (
        r"^Traceback \(most recent call last\):",
        "a traceback of Python: it has no kernel stacks; take /proc/PID/stack of the "
        "process",
    ),
    (
        r"^(?:\[pid +\d{1,8}\] )?(?:[\d:.]{5,20} )?\w{2,24}\(.{0,400}\)\s{1,40}= -?\d",
        "the output of strace: it shows system calls, not where they sleep; take "
        "/proc/PID/stack of the process",
    ),
    (
        r"^\s{0,8}(?:USER|UID|PID|F|S)\s.{0,80}\b(?:STAT|WCHAN|CMD|COMMAND)\b",
        "the output of ps: it names tasks, without their stacks; take /proc/PID/stack "
        "of those in state D",
    ),
    (
        r"^<!DOCTYPE|^<html",
        "a web page without a stack: open the report itself, or paste its text",
    ),
)


class Sample:
    """The first bytes of a text that passes by."""

    def __init__(self) -> None:
        self._held = bytearray()

    def of(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks."""
        for chunk in chunks:
            self._held += chunk[: SAMPLE_BYTES - len(self._held)]
            yield chunk

    @property
    def text(self) -> str:
        """What was held, as text."""
        return self._held.decode("utf-8", "replace")


def kind(text: str) -> str | None:
    """What a text is and the remedy, None where it is unknown."""
    if len(_MISREAD.findall(text)) >= 3:
        return "a screenshot's OCR, its offsets misread: paste the log as text"
    for pattern, name in _KINDS:
        if re.search(pattern, text, re.MULTILINE | re.IGNORECASE * ("html" in pattern)):
            return name
    return None
