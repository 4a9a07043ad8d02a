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
            r"configfs: Tried to unregister",  # fs/configfs/dir.c
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
# arch/x86/kernel/dumpstack.c, show_opcodes() puts the byte at which the CPU goes on in
# brackets: an int3 is the byte before it.
BEFORE_THE_NEXT = re.compile(r"\b([0-9a-f]{2}) <[0-9a-f]{2}>")
INT3 = "cc"
MOST_SHOWN = 36  # lines: an oops to the end of its call trace
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


def excerpt(console: str, complaints: list[str]) -> list[str]:
    """The console's lines from the first complaint on, or its last ones."""
    lines = console.splitlines()
    for number, line in enumerate(lines):
        if complaints and complaints[0] in line:
            return lines[number : number + MOST_SHOWN]
    return lines[-MOST_SHOWN // 3 :]


def stale_int3(console: str) -> bool:
    """Whether the first oops is of an int3 that the memory of the guest does not hold.

    The kernel overwrites an int3 and then waits until every CPU has serialized
    (arch/x86/kernel/alternative.c, text_poke_bp_batch()): no CPU executes it after
    that. TCG lets one: it drops the translations of a page before the byte is stored,
    and another vCPU's thread may translate the old byte in between (QEMU,
    accel/tcg/cputlb.c, notdirty_write()).
    """
    _, _, oops = console.partition("Oops: ")
    code = re.search(r"\bCode: (.*)", oops)
    byte = BEFORE_THE_NEXT.search(code[1]) if code else None
    return oops.startswith("int3") and byte is not None and byte[1] != INT3
