# SPDX-License-Identifier: GPL-2.0-only
"""next_steps: say what to do next about the root that a log's headline names.

One step each: the command that shows the next link, the file to read, or the known
remedy, with the manual or the part of the kernel's documentation that has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from writestall.classify.named_waits import ALL_STACKS, SYSRQ, WORKS, Step
from writestall.log import asked
from writestall.log.holders.sections import (
    MUTEX,
    READ,
    SEMAPHORE,
    WORK,
    WRITE,
    sleep_kind,
)
from writestall.log.kernel_reports import Report
from writestall.log.links import LogAnswer, Stuck
from writestall_base import wait_classes as c

_STACK = "cat /proc/{pid}/stack"
# Functions named in a step.
_SHOWN = 4

CLASSES: dict[str, Step] = {
    c.PAGE_LOCK: Step(
        f"see who writes or reads the file: {ALL_STACKS}, twice, and look for a task "
        "of its file system in D; of a network's, whether the server answers",
        SYSRQ,
    ),
    c.PAGE_WRITEBACK: Step(
        "see whether the disk below writes (iostat -x 1, errors in dmesg); for a "
        "network file system, whether its server answers",
        "iostat(1)",
    ),
    c.JOURNAL_BUFFER: Step(
        f"take the stack of the journal's thread, jbd2/DISK: {ALL_STACKS}",
        "Documentation/filesystems/ext4/journal.rst",
    ),
    c.JOURNAL_TRANSACTION: Step(
        "find the handle that does not stop: cat /proc/fs/jbd2/*/info, and "
        f"{ALL_STACKS} for a task below ext4_*() that sleeps elsewhere",
        "fs/jbd2/journal.c jbd2_seq_info_show()",
    ),
    c.JOURNAL_COMMIT_WAIT: Step(
        f"take the stack of the thread that commits (jbd2/DISK, xfs-cil): {ALL_STACKS}",
        SYSRQ,
    ),
    c.JOURNAL_SPACE: Step(
        "see whether the disk writes (iostat -x 1); a larger journal fills later: "
        "tune2fs -J size=",
        "tune2fs(8)",
    ),
    c.DIRTY_THROTTLE: Step(
        "compare Dirty and Writeback of /proc/meminfo with vm.dirty_bytes, and see "
        "whether the disk writes: iostat -x 1",
        "Documentation/admin-guide/sysctl/vm.rst",
    ),
    c.INODE_LOCK: Step(
        f"find the task inside the same file or directory: {ALL_STACKS}",
        SYSRQ,
    ),
    c.FS_LOCK: Step(
        f"find the task inside the same file system: {ALL_STACKS}; a kernel with "
        "lockdep lists the owners: echo d > /proc/sysrq-trigger",
        SYSRQ,
    ),
    c.LOG_SPACE: Step(
        "see whether the disk below the log writes (iostat -x 1), and what xfsaild "
        f"sleeps on: {ALL_STACKS}",
        "Documentation/admin-guide/xfs.rst",
    ),
    c.FS_TRANSACTION: Step(
        "take the stack of the task that commits (btrfs-transaction, f2fs_ckpt, "
        f"txg_sync): {ALL_STACKS}",
        SYSRQ,
    ),
    c.BLOCK_QUEUE: Step(
        "see which requests do not end: cat /sys/block/*/inflight, and "
        "/sys/kernel/debug/block/DISK/hctx*/busy",
        "Documentation/block/stat.rst",
    ),
    c.DEVICE_IO: Step(
        "see whether the disk answers: dmesg for timeouts and resets, iostat -x 1, cat "
        "/sys/block/*/inflight, smartctl -a",
        "iostat(1)",
    ),
    c.RAID_OR_DM: Step(
        "see what the device does: cat /proc/mdstat, dmsetup status, dmsetup info (a "
        "suspended one: dmsetup resume)",
        "dmsetup(8)",
    ),
    c.MEMORY: Step(
        "see who uses the memory and whether swap writes: cat /proc/meminfo "
        "/proc/pressure/memory, and memory.events of the cgroup",
        "Documentation/accounting/psi.rst",
    ),
    c.OTHER: Step(
        f"take all stacks while it hangs: {ALL_STACKS}, twice, 10 s apart",
        SYSRQ,
    ),
}
# Classes whose waits have names (asked.py).
_NAMED = (
    *(c.OTHER, c.FS_LOCK, c.FS_TRANSACTION, c.RAID_OR_DM),
    *(c.BLOCK_QUEUE, c.INODE_LOCK),
)
_LOCK = Step(
    "find the task that is in the same function or driver and sleeps further in: "
    f"{ALL_STACKS}; echo d > /proc/sysrq-trigger lists the owners where the kernel "
    "has lockdep",
    SYSRQ,
)
# By the kind of sleep, where nothing else is known.
_SLEEPS = {**dict.fromkeys((MUTEX, READ, WRITE, SEMAPHORE), _LOCK), WORK: WORKS}
_GONE = Step(f"take its stack while it holds the lock: {_STACK}", SYSRQ)
_RUNS = Step(
    "see what it runs: perf record -p {pid} -g -- sleep 5; a spinning kernel also "
    "shows with echo l > /proc/sysrq-trigger",
    "perf-record(1)",
)
_RESTS = Step("see what it waits for: strace -p {pid}, " + _STACK, "strace(1)")
_NO_STACK = Step(f"take the stacks while they hang: {ALL_STACKS}, then dmesg", SYSRQ)
_DEADLOCK = Step(
    "it is a deadlock of the kernel: report it with these stacks and "
    "scripts/decode_stacktrace.sh; only a reboot ends it",
    "Documentation/admin-guide/reporting-issues.rst",
)
_CIRCLE = Step(
    f"prove the circle: {ALL_STACKS} 10 min later shows the same stacks, and "
    "CONFIG_PROVE_LOCKING names the locks",
    "Documentation/locking/lockdep-design.rst",
)


def of_task(stuck: Stuck) -> Step:
    """The step for a task that waits for no other, as far as the log shows."""
    task = stuck.task
    if stuck.owner:
        if not task.guesses:
            return _GONE
        return _RUNS if task.state in (None, "R") else _RESTS
    if not task.guesses:
        return _NO_STACK
    verdict = stuck.in_shrinker or stuck.in_reclaim or stuck.verdict
    step = verdict.named.step if verdict.named else None
    if step is None:
        step = _inside(stuck)
    if step is None and verdict.cls == c.OTHER:
        step = _SLEEPS.get(sleep_kind(stuck))
    return step or CLASSES[verdict.cls]


def _inside(stuck: Stuck) -> Step | None:
    """Where to look for the holder of a lock with a name."""
    found = asked.holders(stuck) if stuck.verdict.cls in _NAMED else []
    if not found:
        return None
    shown = ", ".join(f"{name}()" for name in found[:_SHOWN])
    more = ", ..." if len(found) > _SHOWN else ""
    text = f"find the task inside {shown}{more}: {ALL_STACKS}"
    return Step(text, "docs/locks.md")


def of_root(answer: LogAnswer, end: int) -> Step:
    """The step for a root; `end` is its index."""
    circle = answer.ring(end)
    if not circle:
        return of_task(answer.tasks[end])
    return _DEADLOCK if answer.is_deadlock(circle) else _CIRCLE


def said(answer: LogAnswer, end: int, reports: Iterable[Report] = ()) -> str:
    """The step and its source in one line; where the root waits for a disk, what the
    log reports of one comes first."""
    step = of_root(answer, end)
    if step is CLASSES[c.DEVICE_IO]:
        fails = next((one for one in reports if one.of_disk), None)
        step = _failing(fails) if fails else step
    pid = answer.tasks[end].task.pid
    text = step.text.replace("{pid}", str(pid) if pid is not None else "PID")
    return f"{text} ({step.source})"


def _failing(report: Report) -> Step:
    """The step for a disk of which the log reports errors."""
    text = (
        f"see to the disk that fails ({report.words}, line {report.line}): its cable, "
        "path and controller, smartctl -a"
    )
    return Step(text, "smartctl(8)")
