# SPDX-License-Identifier: GPL-2.0-only
"""watch: find the kernel messages that make a run a failure: each of level warning or
worse, as with blktests (_check_dmesg() in its common/rc), unless a table allows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# What vm/guest.sh writes to the log before and after the job.
BEGINS, ENDS = "guest.sh: the job begins", "guest.sh: the job has ended"
# Documentation/ABI/testing/dev-kmsg: facility and level, sequence number, time, flags,
# then perhaps more fields. Dictionary lines begin with a space.
RECORD = re.compile(r"(?P<priority>\d+),(?P<number>\d+),(?P<time_us>\d+),[^;]*;(.*)")


@dataclass(frozen=True)
class Record:
    """One record: level as in syslog(2) (4 is a warning), number since boot, time since
    boot in microseconds, text in one line, with \\n as \\x0a."""

    level: int
    number: int
    time_us: int
    text: str


WARNING = 4  # include/linux/kern_levels.h; lower levels are worse


@dataclass(frozen=True)
class Allowed:
    """Lines of level warning or worse that are no complaint: whole ones, joined by
    newlines; why, and what prints them."""

    lines: str
    reason: str
    source: str


ALLOWED = (
    Allowed(
        r"\w+: loading out-of-tree module taints kernel\.",
        "biodelay and SystemTap's modules are not part of the kernel",
        "kernel/module/main.c, check_modinfo()",
    ),
    Allowed(
        r"\w+: module_layout: kernel tainted\.",
        "SystemTap's modules carry no versions of the symbols that they use",
        "kernel/module/main.c, try_to_force_load()",
    ),
    Allowed(
        r"Disabling lock debugging due to kernel taint",
        "the same modules; lockdep is on where they are not loaded",
        "kernel/panic.c, add_taint()",
    ),
    Allowed(
        r"device-mapper: core: CONFIG_IMA_DISABLE_HTABLE is disabled\..*",
        "a note on the configuration, when dm_mod is loaded",
        "drivers/md/dm.c, dm_init()",
    ),
    Allowed(
        r"NOTICE: Automounting of tracing to debugfs is deprecated.*",
        "SystemTap and bpftrace look for the events below debugfs",
        "kernel/trace/trace.c, trace_automount()",
    ),
    Allowed(
        r"XFS \(\S+\): EXPERIMENTAL .* Use at your own risk!",
        "what mkfs.xfs turns on by default is new to the kernel",
        "fs/xfs/xfs_message.c, xfs_warn_experimental()",
    ),
    Allowed(
        r"(sd|scsi) \S+: Power-on or device reset occurred",
        "the first command to a SCSI disk is answered so",
        "drivers/scsi/scsi_error.c, scsi_report_sense()",
    ),
    Allowed(
        r"hrtimer: interrupt took \d+ ns",
        "the host took the CPU away from the machine",
        "kernel/time/hrtimer.c, hrtimer_interrupt()",
    ),
    Allowed(
        r"scsi_debug:.*: trim poll_queues to .*",
        "scsi_debug has fewer queues than it was built for",
        "drivers/scsi/scsi_debug.c, sdebug_driver_probe()",
    ),
    Allowed(
        r"(-+\[ cut here \]-+\n)?debugfs file owner did not clean up at exit: .*"
        r"(?s:.*?)\bComm: .* (4\.\d+|5\.[0-8])\.\d+(?s:.*?)\n---\[ end trace .* \]---",
        "opened during an unload, which these kernels took for a module's fault:"
        " 275678e7a9be and e3b9fc7eec55 of 5.9 look at the module's state",
        "fs/debugfs/file.c, full_proxy_open()",
    ),
    Allowed(
        r"=+\nBUG: KCSAN: (?!.*\[biodelay\])(?s:.*?)\n=+",
        "the kernel has races of its own; a report names the functions of a race with"
        " their module",
        "kernel/kcsan/report.c, print_report()",
    ),
)
# The lines of level warning that tell of a hung task; its stack is KERN_INFO.
HUNG_TASK = Allowed(
    r"INFO: task .* blocked for more than .*"
    r"|INFO: task .* (is )?blocked (on|in|by) .*"
    r"| +(Not tainted|Tainted: ).*"
    r'|"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message\.',
    "a task that is delayed on purpose, and those that wait for it",
    "kernel/hung_task.c, check_hung_task()",
)
# arch/x86/kernel/dumpstack.c, show_opcodes() puts the byte at which the CPU goes on in
# brackets: an int3 is the byte before it.
BEFORE_THE_NEXT = re.compile(r"\b([0-9a-f]{2}) <[0-9a-f]{2}>")
INT3 = "cc"
MOST_SHOWN = 36  # lines: an oops to the end of its call trace
STAMP = re.compile(r"^\[ *(?P<s>\d+\.\d+)\](\[[^]]*\])? ?")


def records(stream: str) -> list[Record]:
    """What /dev/kmsg gave, in order; a record that was read twice is there once."""
    found = {}
    for line in stream.splitlines():
        if parsed := RECORD.fullmatch(line):
            number = int(parsed["number"])
            level = int(parsed["priority"]) & 7
            found[number] = Record(level, number, int(parsed["time_us"]), parsed[4])
    return [found[number] for number in sorted(found)]


def of_job(found: list[Record]) -> list[Record]:
    """The records since the job began; none if it did not."""
    for at, record in enumerate(found):
        if record.text == BEGINS:
            return found[at:]
    return []


def missing(found: list[Record]) -> int:
    """How many records are missing between the first and the last."""
    return found[-1].number - found[0].number + 1 - len(found) if found else 0


def is_whole(found: list[Record]) -> bool:
    """Whether it goes on to the end of the job."""
    return any(record.text == ENDS for record in found)


def complaints(
    records: list[Record],
    excused_frames: str | None = None,
    expected: Sequence[str] = (),
) -> list[str]:
    """The lines of level warning or worse that nothing allows, in order.

    `expected` are regular expressions of the beginnings of lines that the job causes on
    purpose.
    Hung tasks count unless one of them sleeps in a frame that matches
    `excused_frames`: it is delayed on purpose, and others may wait for it.
    """
    rows = [row.lines for row in ALLOWED] + [f"(?:{line}).*" for line in expected]
    said = "\n".join(record.text for record in records)
    if excused_frames and re.search(excused_frames, said):
        rows.append(HUNG_TASK.lines)
    bad = "\n".join(record.text for record in records if record.level <= WARNING)
    allowed = re.compile("|".join(f"^(?:{row})$" for row in rows), re.MULTILINE)
    left = [line for line in allowed.sub("", bad).splitlines() if line.strip()]
    if lost := missing(records):
        left.append(f"{lost} lines of the kernel log were lost before they were read")
    return left


def last_words(console: str, records: list[Record]) -> list[str]:
    """The lines of a console that are younger than the last record that was read."""
    since_us = records[-1].time_us if records else -1
    found = [(STAMP.match(line), line) for line in console.splitlines()]
    return [
        STAMP.sub("", line).strip()
        for stamp, line in found
        if stamp and float(stamp["s"]) * 1e6 > since_us
    ]


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
