# SPDX-License-Identifier: GPL-2.0-only
"""watch: find the kernel messages that make a run a failure."""

from __future__ import annotations

import re

# What the kernel prints when something is wrong, each with its printer.
COMPLAINTS = re.compile(
    "|".join(
        (
            r"Kernel panic - not syncing",  # kernel/panic.c
            r"\bOops: ",  # arch/x86/kernel/dumpstack.c
            r"\bBUG: ",  # mm/kasan, lib/bug.c, fault.c, soft lockups
            r"kernel BUG at",  # lib/bug.c
            r"\bWARNING: ",  # kernel/panic.c; lockdep prints it too
            r"general protection fault",  # arch/x86/kernel/traps.c
            r"possible (recursive|irq) lock|circular locking",  # lockdep.c
            r"rcu: INFO: .*stall",  # kernel/rcu/tree_stall.h
            r"refcount_t: ",  # lib/refcount.c
            r"Unable to handle kernel",  # arch/arm64/mm/fault.c
            r"list_(add|del) corruption",  # lib/list_debug.c
            r"kmemleak: \d+ new suspected",  # mm/kmemleak.c
            r"\bUBSAN: ",  # lib/ubsan.c
            r"INFO: trying to register non-static key",  # lockdep.c
        )
    )
)
HUNG_TASK = re.compile(r"INFO: task .* blocked for more than")  # hung_task.c
# Console lines that hold a matched word and are no complaint. KCSAN names the two
# functions of a race (kernel/kcsan/report.c), with their module, if they are in one:
# the kernel has races of its own.
HARMLESS = re.compile(
    r"out-of-tree module taints|module verification failed"
    r"|BUG: KCSAN: (?!.*\[biodelay\])"
)
STAMP = re.compile(r"^\[ *\d+\.\d+\](\[[^]]*\])? ?")


def complaints(console: str, excused_frames: str | None = None) -> list[str]:
    """The complaining lines of a console, in order.

    Hung tasks count unless one of them sleeps in a frame that matches
    `excused_frames`: it is delayed on purpose, and others may wait for it.
    """
    lines = [STAMP.sub("", line).strip() for line in console.splitlines()]
    bad = [
        line for line in lines if COMPLAINTS.search(line) and not HARMLESS.search(line)
    ]
    hung = [line for line in lines if HUNG_TASK.search(line)]
    if hung and not (excused_frames and re.search(excused_frames, console)):
        bad += hung
    return bad
