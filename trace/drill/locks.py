# SPDX-License-Identifier: GPL-2.0-only
"""locks: the path to a sleeping function to what it waits for.

The innermost function that the table knows decides. The classes are those of
docs/how-causes-are-inferred.md; a test holds both tables to the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Lock:
    """A class of waiting, what is waited for, and the functions that tell it."""

    cls: str
    what: str
    functions: tuple[str, ...]


LOCKS = (
    # mm/filemap.c: __folio_lock() is a tail call of folio_wait_bit_common(), so its
    # callers tell; before 5.16 __lock_page() was seen.
    Lock(
        "page_lock",
        "the folio's lock, PG_locked",
        (
            "__folio_lock",
            "__lock_page",
            "__filemap_get_folio",
            "__filemap_get_folio_mpol",
            "pagecache_get_page",
            "find_lock_page",
        ),
    ),
    # mm/page-writeback.c: folio_wait_writeback(), and folio_wait_stable() above it.
    Lock(
        "page_writeback",
        "the folio's write to the disk, PG_writeback",
        (
            "folio_wait_writeback",
            "folio_wait_stable",
            "wait_on_page_writeback",
            "wait_for_stable_page",
        ),
    ),
    # fs/jbd2/transaction.c: a buffer that the committing transaction writes cannot
    # be changed (BH_Shadow).
    Lock(
        "journal_buffer",
        "a metadata buffer that a commit is writing, BH_Shadow",
        ("do_get_write_access",),
    ),
    # fs/jbd2/transaction.c: T_LOCKED, a commit waits for handles and lets none in.
    Lock(
        "journal_transaction",
        "a transaction that a commit has locked, T_LOCKED",
        ("wait_transaction_locked", "wait_transaction_switching"),
    ),
    # fs/jbd2/checkpoint.c
    Lock(
        "journal_space",
        "space in the log, j_checkpoint_mutex",
        ("__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"),
    ),
    # fs/jbd2/journal.c
    Lock(
        "journal_commit_wait",
        "the end of a commit",
        ("jbd2_log_wait_commit", "jbd2_complete_transaction"),
    ),
    # mm/page-writeback.c
    Lock(
        "dirty_throttle",
        "fewer dirty pages",
        ("balance_dirty_pages",),
    ),
    # fs/ext4/inode.c: taken around the mapping of blocks.
    Lock(
        "fs_lock",
        "the inode's block map, i_data_sem",
        ("ext4_map_blocks", "ext4_da_map_blocks", "ext4_da_get_block_prep"),
    ),
    # fs/xfs/xfs_inode.c
    Lock("fs_lock", "the XFS inode, ILOCK", ("xfs_ilock_for_iomap",)),
    # fs/xfs/xfs_log.c
    Lock(
        "log_space",
        "a grant of log space",
        ("xlog_grant_head_wait", "xlog_grant_head_check"),
    ),
    # fs/xfs/xfs_log.c: below fsync, as far as the inode's last change.
    Lock(
        "journal_commit_wait",
        "the XFS log's write to the disk",
        ("xfs_log_force_seq", "xlog_force_lsn", "xlog_wait_on_iclog"),
    ),
    # fs/btrfs/ordered-data.c: an ordered extent is data under writeback.
    Lock(
        "page_writeback",
        "the data's write to the disk, an ordered extent",
        (
            "btrfs_start_ordered_extent",
            "btrfs_start_ordered_extent_nowriteback",
            "btrfs_wait_ordered_range",
        ),
    ),
    # fs/btrfs/transaction.c, fs/btrfs/tree-log.c
    Lock(
        "fs_transaction",
        "a btrfs transaction's commit",
        ("wait_current_trans", "wait_for_commit", "btrfs_commit_transaction"),
    ),
    Lock(
        "fs_transaction",
        "the btrfs log tree's write to the disk",
        ("btrfs_sync_log", "wait_log_commit"),
    ),
    # fs/ext4/file.c, fs/xfs/xfs_file.c: inode_lock() around a buffered write.
    Lock(
        "inode_lock",
        "the inode's lock, i_rwsem",
        ("ext4_buffered_write_iter", "xfs_file_buffered_write"),
    ),
    # block/blk-mq-tag.c, block/blk-rq-qos.c
    Lock("block_queue", "a free request", ("blk_mq_get_tag", "rq_qos_wait")),
    # block/blk-core.c
    Lock("device_io", "the disk", ("submit_bio_noacct", "submit_bio_wait")),
)
_BY_FUNCTION = {name: lock for lock in LOCKS for name in lock.functions}


def lock(path: Iterable[str]) -> Lock | None:
    """What the last function of a path, outermost first, waits for."""
    for function in reversed(tuple(path)):
        if function in _BY_FUNCTION:
            return _BY_FUNCTION[function]
    return None
