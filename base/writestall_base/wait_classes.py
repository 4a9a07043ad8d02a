# SPDX-License-Identifier: GPL-2.0-only
"""wait_classes: the names of the classes of time, and of the roles of tasks."""

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
# All of these, with what a task of the class does, for sentences.
DOES = {
    PAGE_LOCK: "waits for a page lock",
    PAGE_WRITEBACK: "waits for pages under writeback",
    JOURNAL_BUFFER: "waits for a buffer of the journal",
    JOURNAL_TRANSACTION: "waits for a transaction of the journal",
    JOURNAL_COMMIT_WAIT: "waits for a commit",
    JOURNAL_SPACE: "waits for room in the journal",
    DIRTY_THROTTLE: "is throttled for dirtying pages",
    INODE_LOCK: "waits for an inode's lock",
    FS_LOCK: "waits for a lock of the file system",
    LOG_SPACE: "waits for the log",
    FS_TRANSACTION: "waits for a transaction of the file system",
    BLOCK_QUEUE: "waits for room in the disk's queue",
    DEVICE_IO: "waits for the disk",
    RAID_OR_DM: "waits inside a stacked device",
    MEMORY: "waits for memory",
    OTHER: "waits for something no rule knows",
}
WAIT_CLASSES = tuple(DOES)
# What a task of a program waits for in an interruptible sleep, outside file systems.
USER_LOCK = "user_lock"
FILE_LOCK = "file_lock"
MESSAGE = "message"
CHILD_EXIT = "child_exit"
TIMER = "timer"
EVENT = "event"
USER_DOES = {
    USER_LOCK: "waits for a lock or a condition of its program",
    FILE_LOCK: "waits for the lock of a file",
    MESSAGE: "waits for a message or an event",
    CHILD_EXIT: "waits for the end of a child",
    TIMER: "sleeps until a time",
    EVENT: "waits for another event",
}
USER_WAITS = tuple(USER_DOES)
# A call of a file system that stalled, as a part of what another task waited for.
CALL = "call"
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
