# SPDX-License-Identifier: GPL-2.0-only
"""endings: find from a sleep's waker what ended the wait."""

from __future__ import annotations

import re
from functools import lru_cache

from writestall.classify.frames import parse_stack
from writestall.classify.owners import STACKED
from writestall.classify.rules.block import SUBMIT
from writestall.classify.rules.file_systems import XFS_BUFFER
from writestall.classify.stack import FOREIGN, Verdict, is_timed
from writestall.events.contract import Block, Stack
from writestall_base import wait_classes as c

TASK, COMPLETION, TIMER, INTERRUPT, UNKNOWN = (
    "task completion timer interrupt unknown".split()
)

# Functions that complete an I/O in a driver or the block layer: block/bio.c
# bio_endio(), block/blk-mq.c blk_update_request(), fs/buffer.c end_buffer_*(),
# mm/filemap.c folio_end_writeback() (end_page_writeback() before 5.16). XFS completes
# its buffers and its log's in work items that their bios' end functions queue
# (fs/xfs/xfs_buf.c xfs_buf_bio_end_io(), fs/xfs/xfs_log.c xlog_bio_end_io()).
_COMPLETION = re.compile(
    r"_*bio_endio|bio_end_io\w*|blk_update_request|blk_mq_(end|complete)_\w+"
    r"|_*blk_mq_(end|complete)_request\w*|blk_done_softirq|blk_complete_reqs"
    r"|_*end_buffer_\w+|end_bio_\w+|folio_end_writeback\w*|end_page_writeback"
    r"|\w+_end_(b?io|ioend)\w*|\w+_endio\w*|scsi_(io_completion|end_request|done)\w*"
    r"|virtblk_done|nvme_(irq|pci_complete\w*)|submit_bio_wait_endio"
    r"|xfs_buf_ioend\w*|xlog_ioend_work"
)
# kernel/time/timer.c call_timer_fn(), hrtimer.c __hrtimer_run_queues().
_TIMER = re.compile(
    r"process_timeout|hrtimer_wakeup|call_timer_fn|_*run_timers\w*|_*hrtimer_run_\w+"
)
# From the timer of a sleep to its task, without a function of another's:
# kernel/time/timer.c process_timeout(), kernel/time/sleep_timeout.c since 6.14;
# hrtimer.c hrtimer_wakeup(). They end in tail calls.
_OWN_TIMER = re.compile(
    r"try_to_wake_up|wake_up_process|process_timeout|hrtimer_wakeup"
)
# kernel/time/timer.c msleep(): they sleep for a time, whoever wakes them before.
_PAUSE = re.compile(r"msleep\w*|usleep_range\w*")
# Functions that release a lock, a bit or a wait queue: mm/filemap.c, fs/buffer.c,
# kernel/locking, kernel/sched/wait*.c, fs/jbd2/commit.c.
_RELEASE = re.compile(
    r"_*(folio_)?unlock(_page|_buffer)?|folio_unlock|folio_wake_bit|wake_up_page_bit"
    r"|up_(read|write)|_*up|rwsem_wake\w*|_*mutex_unlock\w*|wake_up_bit"
    r"|_*wake_up(_common)?(_lock)?|wake_q\w*|complete(_all)?|_*wake_up_\w+"
)
# Workers that submit a stacked disk's bios to the disk below; those of
# drivers/md/dm-delay.c have no name of their own.
_SERVER = re.compile(
    "|".join(functions for _, functions, _ in STACKED)
    + r"|flush_(delayed|expired)_bios\w*|flush_worker_fn"
)


# Functions that start the writeback of a range, or of a file, and then wait for it:
# mm/filemap.c, file_write_and_wait_range(); fs/fs-writeback.c,
# __writeback_single_inode() where all is to be written; fs/btrfs/ordered-data.c.
_SUBMITS_FIRST = re.compile(
    r"file(map)?_write_and_wait(_range)?|__writeback_single_inode"
    r"|btrfs_wait_ordered_range"
)


@lru_cache(maxsize=65536)
def _symbols(stack: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(frame.symbol for frame in parse_stack(stack))


@lru_cache(maxsize=65536)
def _shows(pattern: re.Pattern[str], stack: tuple[str, ...]) -> bool:
    return any(pattern.fullmatch(symbol) for symbol in _symbols(stack))


# The innermost match counts: outer frames are of the interrupted code, and of other
# work in the same interrupt.
@lru_cache(maxsize=65536)
def _sign(stack: tuple[str, ...]) -> str:
    for symbol in _symbols(stack):
        if _COMPLETION.fullmatch(symbol):
            return COMPLETION
        if _TIMER.fullmatch(symbol):
            return TIMER
    return INTERRUPT


def ending(block: Block) -> str:
    """What ended a sleep: a task, an I/O's completion, a timer, another interrupt."""
    if block.waker_ctx is None:
        return UNKNOWN
    if block.waker_ctx == "task":
        return TASK if block.waker_tid else UNKNOWN
    return _sign(block.waker_kstack)


def times_out(block: Block) -> bool:
    """True if the timer of the sleep itself ended it: schedule_timeout(), msleep()."""
    if block.waker_ctx == "task" or not is_timed(block.kstack):
        return False
    for symbol in _symbols(block.waker_kstack):
        if not _OWN_TIMER.fullmatch(symbol):
            return _TIMER.fullmatch(symbol) is not None
    return False


def pauses(block: Block) -> bool:
    """True if the task slept for a time, and for nothing else."""
    return _shows(_PAUSE, block.kstack) and times_out(block)


def completes_io(block: Block, verdict: Verdict) -> bool:
    """True if the waker, whatever its context, completed an I/O.

    A wait for an XFS buffer ends only so, whatever the waker's stack shows: b_iowait is
    completed by xfs_buf_ioend(), which calls complete() last and is itself called last
    by its work function (fs/xfs/xfs_buf.c); both tail calls leave no frame.
    """
    return _sign(block.waker_kstack) == COMPLETION or verdict.rule is XFS_BUFFER


def releases(block: Block) -> bool:
    """True if the waker's stack shows the release of what was waited for."""
    return _shows(_RELEASE, block.waker_kstack)


def submits_first(block: Block) -> bool:
    """True for a task whose function starts the I/O that it then waits for.

    Pages may be under writeback by another already: an io event says so.
    """
    return _shows(_SUBMITS_FIRST, block.kstack)


def is_submitter(block: Block, verdict: Verdict) -> bool:
    """True for a task that sleeps while it submits a bio.

    Such a sleep belongs to the device, whatever ends it (a timer, a driver's thread).
    """
    if verdict.cls != c.DEVICE_IO:
        return False
    return verdict.rule is FOREIGN or _shows(SUBMIT, block.kstack)


def serves(block: Block, submitter: bool) -> bool:
    """True for a stacked disk's worker that sleeps as it submits to the disk below."""
    return submitter and is_server(block.kstack)


def is_server(stack: Stack) -> bool:
    """True for the stack of a worker that submits a stacked disk's bios below."""
    return _shows(_SERVER, stack)
