# SPDX-License-Identifier: GPL-2.0-only
"""traces: name the traces in a log that are of no stuck task.

Sanitizers, RCU and lockdep print the stack of the moment in which they complain, or of
an allocation of long ago; a sample of perf or ftrace is one sleep of many, and bpftrace
and BCC add up all of them.
"""

from __future__ import annotations

import re

PERF = "samples of perf script"
# Of bpftrace and BCC (offcputime, offwaketime, profile, stackcount).
SUMS = "sums of bpftrace or BCC over time"
# kernel/locking/lockdep.c print_circular_bug_entry(): where a lock was taken once, by
# whom is not said; most end in the function that sleeps for it.
CHAINS = "chains of lockdep"
# The same of a tracker of dependencies, in patches since 2022.
DEPT = "dependencies of DEPT"
# mm/kmemleak.c print_unreferenced(): who allocated.
LEAKS = "kmemleak"
# A stack ends these traces, and is none of a task that sleeps now.
NO_SLEEPS = frozenset((PERF, SUMS, CHAINS, DEPT, LEAKS, "samples of ftrace"))
# A word of the line that begins such traces, how they are called, and the line.
# Sources: kernel/rcu/tree_stall.h, mm/kasan/report.c, lib/ubsan.c, mm/kmemleak.c,
# lib/debugobjects.c, kernel/locking/lockdep.c, kernel/watchdog.c, lib/nmi_backtrace.c.
_SANITIZERS = "KASAN, KMSAN, KCSAN, KFENCE, UBSAN"
_KINDS: tuple[tuple[str, str, str], ...] = (
    (
        "rcu",
        "RCU stalls",
        r"\brcu: INFO: |\brcu_\w+ (?:self-)?detected ",
    ),
    ("SAN", _SANITIZERS, r"\bBUG: K(?:A|M|C)SAN|\bUBSAN: "),
    ("KFENCE", _SANITIZERS, r"\bBUG: KFENCE"),
    ("by task", _SANITIZERS, r"^\s*(?:Allocated|Freed) by task"),
    ("work creation", _SANITIZERS, r"^\s*Last (?:potentially related|call_rcu)"),
    ("Uninit", _SANITIZERS, r"^\s*Uninit was (?:stored|created)"),
    ("unreferenced", LEAKS, r"\bunreferenced object 0x"),
    ("ODEBUG", "ODEBUG", r"\bODEBUG: "),
    ("-> #", CHAINS, r"-> #\d{1,3} \("),
    ("DEPT", DEPT, r"\bDEPT: "),
    ("stacktrace:", DEPT, r"^\s*stacktrace:$"),
    ("locking", CHAINS, r"\bpossible (?:circular|recursive) locking"),
    ("lockup", "CPUs that are locked up", r"\b(?:soft|hard) lockup"),
    ("@", SUMS, r"^\s*@\w{0,60}\["),
    ("Tracing ", SUMS, r"^Tracing (?:off-CPU|blocked) time|^Tracing \d+ functions"),
    ("Sampling at", SUMS, r"^Sampling at \d+ Hertz"),
    ("stack trace>", "samples of ftrace", r"<(?:user )?stack trace>"),
    ("NMI", "CPUs that are locked up", r"\bNMI backtrace for cpu"),
)
_FORMS = tuple((word, name, re.compile(form)) for word, name, form in _KINDS)
# tools/perf/builtin-script.c: name, numbers, CPU, time, event.
_SAMPLE = re.compile(
    r"\s{0,24}\S.{0,24}?\s{1,8}\d{1,10}(?:/\d{1,10})?\s{1,4}(?:\[\d{3,4}\]\s{1,4})?"
    r"\d{1,12}\.\d{6,9}:\s"
)


def kind(body: str) -> str | None:
    """The name of the traces that this line begins; None for any other line."""
    for word, name, form in _FORMS:
        if word in body and form.search(body):
            return name
    return PERF if _SAMPLE.match(body) else None
