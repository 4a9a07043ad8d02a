# SPDX-License-Identifier: GPL-2.0-only
"""classes: the names of the classes of time, and of the roles of tasks."""

from __future__ import annotations

# What a task waits for (docs/how-causes-are-inferred.md defines each).
PAGE_LOCK = "page_lock"
PAGE_WRITEBACK = "page_writeback"
JOURNAL_BUFFER = "journal_buffer"
JOURNAL_TRANSACTION = "journal_transaction"
JOURNAL_COMMIT_WAIT = "journal_commit_wait"
JOURNAL_SPACE = "journal_space"
DIRTY_THROTTLE = "dirty_throttle"
INODE_LOCK = "inode_lock"
FS_LOCK = "fs_lock"
LOG_SPACE = "log_space"
FS_TRANSACTION = "fs_transaction"
BLOCK_QUEUE = "block_queue"
DEVICE_IO = "device_io"
RAID_OR_DM = "raid_or_dm"
MEMORY = "memory"
OTHER = "other"
WAIT_CLASSES = (
    PAGE_LOCK,
    PAGE_WRITEBACK,
    JOURNAL_BUFFER,
    JOURNAL_TRANSACTION,
    JOURNAL_COMMIT_WAIT,
    JOURNAL_SPACE,
    DIRTY_THROTTLE,
    INODE_LOCK,
    FS_LOCK,
    LOG_SPACE,
    FS_TRANSACTION,
    BLOCK_QUEUE,
    DEVICE_IO,
    RAID_OR_DM,
    MEMORY,
    OTHER,
)
# Time that is not a wait with its own stack.
RUNNING = "running"
RUNQUEUE = "runqueue"
SHORT_SLEEPS = "short_sleeps"
UNEXPLAINED = "unexplained"

# Roles of tasks.
WRITER = "writer"
WRITEBACK = "writeback"
JOURNAL = "journal"
ROLE_OTHER = "other"
