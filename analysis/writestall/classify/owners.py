# SPDX-License-Identifier: GPL-2.0-only
"""owners: name the part of the kernel that a task acts for, by stack and name.

Several threads and any number of workers act for one journal: an I/O of theirs has
one owner, the journal, never a worker's number.
"""

from __future__ import annotations

import re
from functools import lru_cache

from writestall.classify.frames import parse_stack
from writestall.classify.stack import role
from writestall_base import wait_classes as c

JBD2 = "jbd2"
WRITEBACK = "writeback"
XFS_LOG = "the XFS log"
# Who submits a stacked disk's bios to the disk below: drivers/block/loop.c
# (loop_queue_work() before 5.15, loop_thread() before 4.0), drivers/md/dm-crypt.c,
# raid1.c, raid10.c, raid5.c.
STACKED: tuple[tuple[str, str, str], ...] = (
    ("the loop worker", r"loop_(process|queue)_work|loop_thread", r"loop\d+"),
    ("the dm-crypt worker", r"dmcrypt_write|kcryptd_\w+", r"dmcrypt_write/.+"),
    ("the md thread", r"raid(1|10|5)d|raid5_do_work", r"md\d+_.+"),
)
# The first row whose functions or names of tasks fit.
_OWNERS: tuple[tuple[str, str, str], ...] = (
    # fs/jbd2/journal.c kjournald2(), "jbd2/%s"
    (JBD2, r"kjournald2", r"jbd2/.+"),
    # fs/xfs/xfs_trans_ail.c xfsaild() writes back what keeps the log full;
    # xfs_log.c, xfs_log_cil.c: work of the log; xfs_buf.c, xfs_buf_ioend_work(): the
    # end of an asynchronous write, which xfsaild alone submits
    (
        XFS_LOG,
        r"xfsaild|xlog_\w+_work|xfs_log_worker|xfs_buf_ioend\w*",
        r"xfsaild/.+|xfs-(log|cil|sync)/.+|xfslogd.*",
    ),
    # fs/btrfs/disk-io.c transaction_kthread()
    ("the btrfs transaction", r"transaction_kthread", r"btrfs-transac.*"),
    # fs/f2fs/checkpoint.c issue_checkpoint_thread(), "f2fs_ckpt-%u:%u"
    ("the f2fs checkpoint", r"issue_checkpoint_thread", r"f2fs_ckpt.*"),
    *STACKED,
)
ALL_OWNERS = (WRITEBACK, *(name for name, _, _ in _OWNERS))
_PATTERNS = tuple(
    (name, re.compile(functions), re.compile(comms))
    for name, functions, comms in _OWNERS
)
# fs/xfs/xfs_log.c, xlog_force_lsn(): who waits for the log may write it out himself.
_XFS_LOG_WAIT = re.compile(r"_*(xlog|xfs_log)_\w+")
_WORKER = re.compile(r"kworker/.*")
# kernel/workqueue.c, process_one_work() calls the work's function.
_CALLS_THE_WORK = "process_one_work"


def is_xfs_log(path: tuple[str, ...]) -> bool:
    """Whether a wait, by its functions, is for the log of an XFS to be on the disk."""
    return any(map(_XFS_LOG_WAIT.fullmatch, path))


@lru_cache(maxsize=65536)
def owner_name(stack: tuple[str, ...], comm: str) -> str:
    """Who a task acts for: a journal, writeback, or the task itself by its name.

    Of a worker whose stack is known and names neither it is the work's function.
    """
    symbols = [frame.symbol for frame in parse_stack(stack)]
    for name, functions, comms in _PATTERNS:
        if comms.fullmatch(comm) or any(map(functions.fullmatch, symbols)):
            return name
    if role(stack, comm) == c.WRITEBACK:
        return WRITEBACK
    if _WORKER.fullmatch(comm) and _CALLS_THE_WORK in symbols[1:]:
        return f"{symbols[symbols.index(_CALLS_THE_WORK) - 1]} (a kworker)"
    return comm
