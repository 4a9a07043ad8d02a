# SPDX-License-Identifier: GPL-2.0-only
"""journals: who ends waits for a journal or log: of jbd2 and jbd, of XFS."""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_TASKS = (c.WRITER, c.WRITEBACK, c.ROLE_OTHER)
COMMIT = names("jbd2_journal_commit_transaction journal_commit_transaction")
_MUTEX = names("mutex_lock* __mutex_lock*")
_CHECKPOINT = names("jbd2_log_do_checkpoint log_do_checkpoint")
# Who still waits for a handle, or for what comes before or after one, has none open.
_WITHOUT_HANDLE = (
    c.JOURNAL_TRANSACTION,
    c.JOURNAL_SPACE,
    c.JOURNAL_COMMIT_WAIT,
    c.DIRTY_THROTTLE,
)
_HANDLE = names(
    "do_get_write_access jbd2_journal_get_* journal_get_write_access "
    "journal_get_create_access journal_get_undo_access jbd2_journal_dirty_metadata "
    "ext*_mark_inode_dirty __ext4_mark_inode_dirty ext*_reserve_inode_write "
    "ext*_mark_iloc_dirty ext*_orphan_add ext*_orphan_del ext*_delete_entry "
    "ext*_add_entry ext*_add_nondir ext*_append ext4_init_new_dir ext*_new_block* "
    "ext*_free_blocks ext4_mb_new_blocks ext4_mb_mark_context ext4_ext_insert_extent "
    "ext4_ext_create_new_leaf ext4_ext_handle_unwritten_extents ext4_split_* "
    "ext4_ext_convert_* ext4_ext_truncate ext4_ext_remove_space ext4_ind_truncate "
    "ext*_xattr_set_handle ext*_xattr_block_set ext4_map_create_blocks "
    "mpage_map_and_submit_extent mpage_map_and_submit_buffers mpage_map_one_extent "
    "ext4_iomap_alloc ext4_init_inode_table ocfs2_journal_access* "
    "ocfs2_mark_inode_dirty"
)
_PERHAPS_HANDLE = names(
    "ext4_do_writepages ext4_writepages mpage_prepare_extent_to_map ext*_create "
    "ext*_mkdir ext*_mknod ext*_unlink __ext4_unlink ext*_rmdir ext*_rename* ext*_link "
    "ext*_symlink ext*_tmpfile ext*_new_inode __ext4_new_inode ext*_evict_inode "
    "ext*_delete_inode ext*_truncate ext*_setattr ext4_write_begin ext3_write_begin "
    "ext4_fallocate ext4_punch_hole ext4_zero_range ext4_collapse_range "
    "ext4_insert_range ext4_group_add ext4_flex_group_add ext4_resize_fs "
    "ext4_xattr_set ext4_ioctl_setflags ext4_ioctl_setproject ext4_*_dquot "
    "swap_inode_boot_loader ext4_ext_migrate move_extent_per_page "
    "ext4_convert_unwritten_io_end_vec "
    "ext*_map_blocks ext3_get_blocks_handle ext3_*_writepage ext*_dirty_inode"
)
# fs/ext4/inode.c ext4_evict_inode(), ext4_setattr(): what comes before their handles.
_BEFORE_HANDLE = names(
    "truncate_inode_pages* truncate_pagecache inode_dio_wait* dquot_* "
    "filemap_write_and_wait_range"
)
_LOCK_UPDATES = names("jbd2_journal_lock_updates journal_lock_updates")
_HOLDS_UPDATES = names(
    "jbd2_journal_flush journal_flush ext4_freeze ext4_change_inode_*"
)

_CIL_PUSH = names("xlog_cil_push_work")
_LOG_ENDS = names("xlog_ioend_work")
_AIL = names("xfsaild")
_PUSHING = "xlog_cil_push_now xlog_cil_force_seq xlog_cil_force_lsn"
_PUSHES = names(_PUSHING)
_SPACE = (
    "xlog_grant_* xlog_regrant_* xfs_log_reserve xfs_log_regrant xfs_ail_push_all_sync"
)
_GRANT = names(_SPACE)

_HANDLES = (
    Holder(
        "it has a handle open, and the commit waits for all handles",
        "fs/jbd2/commit.c jbd2_journal_wait_updates(); these functions are given a "
        "handle, or run between ext4_journal_start() and ext4_journal_stop() in "
        "fs/ext4/inode.c ext4_do_writepages()",
        _HANDLE,
        lock="t_updates of a jbd2 transaction",
        not_in=_WITHOUT_HANDLE,
        any_right=True,
    ),
    perhaps(
        "it has begun to write a page, with a handle open before 3.9",
        "fs/ext4/inode.c ext4_da_write_begin() opens a handle before it looks for the "
        "page up to 3.8, after it since; generic_file_aio_write() is of 3.15 or older",
        names("ext4_da_write_begin ext4_write_begin ext3_write_begin"),
        lock="t_updates of a jbd2 transaction",
        also=names("generic_file_aio_write generic_file_buffered_write"),
        not_in=(*_WITHOUT_HANDLE, c.INODE_LOCK),
        any_right=True,
    ),
    perhaps(
        "it may have a handle open, and the commit waits for all handles",
        "fs/ext4/inode.c ext4_do_writepages(), namei.c: these functions open a handle, "
        "but sleep before that as well",
        _PERHAPS_HANDLE,
        lock="t_updates of a jbd2 transaction",
        not_shows=_BEFORE_HANDLE,
        not_in=(*_WITHOUT_HANDLE, c.INODE_LOCK),
        any_right=True,
    ),
)

_LOG = (
    Holder(
        "it pushes what the log has collected",
        "fs/xfs/xfs_log_cil.c xlog_cil_push_now() waits for this work",
        _CIL_PUSH,
        lock="the CIL of an XFS log",
        of=_PUSHES,
        not_of=_CIL_PUSH,
        any_right=True,
    ),
    Holder(
        "it ends the log's writes",
        "fs/xfs/xfs_log.c xlog_ioend_work() frees the log's buffers, in the order they "
        "were written, and wakes those who wait for them",
        _LOG_ENDS,
        lock="an iclog of an XFS log",
        not_of=names(f"xlog_ioend_work {_SPACE} {_PUSHING}"),
    ),
    perhaps(
        "it ends the log's writes",
        "fs/xfs/xfs_log.c xlog_ioend_work() puts what was logged into the AIL, from "
        "where it is written, and frees buffers that a push of the CIL waits for",
        _LOG_ENDS,
        lock="an iclog of an XFS log",
        of=names(f"{_SPACE} {_PUSHING}"),
        not_of=_LOG_ENDS,
    ),
    perhaps(
        "it pushes what the log has collected",
        "fs/xfs/xfs_log_cil.c xlog_cil_push_work() writes the commit record",
        _CIL_PUSH,
        lock="the CIL of an XFS log",
        not_of=_CIL_PUSH,
    ),
)

_LOCKED = Holder(
    "it commits the locked transaction",
    "fs/jbd2/transaction.c start_this_handle(), wait_transaction_locked(): while "
    "t_state is T_LOCKED, and so t_updates is awaited",
    COMMIT,
    lock="the running jbd2 transaction, locked",
    roles=_TASKS,
    not_of=_LOCK_UPDATES,
    only_in=(c.JOURNAL_TRANSACTION,),
    any_right=True,
)
_SENDS_BUFFERS = names(
    "__block_write_full_folio __block_write_full_page block_write_full_folio "
    "block_write_full_page"
)
# fs/jbd2/commit.c writes a copy of a buffer; its lock is that of other I/O.
_LOCKS_BUFFER = names("__lock_buffer")
# What jbd2_journal_commit_transaction() calls before it writes the first one.
_BEFORE_BUFFERS = names(
    "*journal_submit_data_buffers *journal_submit_inode_data_buffers "
    "jbd2_journal_write_revoke_records journal_write_revoke_records"
)
_FAST_COMMIT = names("ext4_fc_commit ext4_fc_submit_inode_data_all")

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.JOURNAL_BUFFER: (
        Holder(
            "the commit writes the buffer",
            "fs/jbd2/transaction.c do_get_write_access() waits for BH_Shadow, which "
            "fs/jbd2/commit.c clears; a commit that waits for handles has written none",
            COMMIT,
            lock="BH_Shadow of a jbd2 buffer",
            roles=_TASKS,
            not_of=_LOCKS_BUFFER,
            not_in=(c.JOURNAL_TRANSACTION,),
            not_shows=_BEFORE_BUFFERS,
            any_right=True,
        ),
        perhaps(
            "it has locked buffers of a page, and sends them",
            "fs/buffer.c __block_write_full_folio() locks the buffers of a page before "
            "it submits one; fs/jbd2/transaction.c do_get_write_access() locks one",
            _SENDS_BUFFERS,
            lock="BH_Lock of a buffer",
            of=_LOCKS_BUFFER,
            not_shows=_LOCKS_BUFFER,
        ),
    ),
    c.JOURNAL_COMMIT_WAIT: (
        Holder(
            "it commits the transaction",
            "fs/jbd2/journal.c jbd2_log_wait_commit(): kjournald2 commits",
            COMMIT,
            lock="the commit of a jbd2 transaction",
            roles=_TASKS,
            not_caller=_FAST_COMMIT,
            any_right=True,
        ),
        perhaps(
            "it changes an inode, and the fast commit waits until it has",
            "fs/ext4/fast_commit.c ext4_fc_submit_inode_data_all() waits for "
            "i_fc_updates, which ext4_fc_start_update() raises for an operation",
            names("jbd2_log_wait_commit"),
            lock="i_fc_updates of an ext4 inode",
            also=names("ext4_should_retry_alloc"),
            caller=_FAST_COMMIT,
            any_right=True,
        ),
        *_LOG,
        perhaps(
            "it writes the log, holding its lock",
            "fs/gfs2/log.c gfs2_log_flush() holds sd_log_flush_lock",
            names("gfs2_log_flush gfs2_logd"),
            lock="sd_log_flush_lock of gfs2",
            of=names("gfs2_log_flush"),
            past=True,
        ),
    ),
    c.JOURNAL_TRANSACTION: (
        perhaps(
            "its fast commit is under way, and a full one waits for its end",
            "fs/jbd2/commit.c jbd2_journal_commit_transaction(): while "
            "JBD2_FAST_COMMIT_ONGOING is set (since 5.10)",
            _FAST_COMMIT,
            lock="JBD2_FAST_COMMIT_ONGOING of a journal",
            caller=names("jbd2_journal_commit_transaction"),
        ),
        _LOCKED,
        replace(_LOCKED, only_in=()),
        *(replace(handle, roles=(c.JOURNAL,)) for handle in _HANDLES),
        *(replace(handle, of=_LOCK_UPDATES) for handle in _HANDLES),
        perhaps(
            "it keeps all handles out",
            "fs/jbd2/transaction.c jbd2_journal_lock_updates()",
            _HOLDS_UPDATES,
            lock="j_barrier of a jbd2 journal",
            roles=_TASKS,
            not_of=_LOCK_UPDATES,
            not_shows=_LOCK_UPDATES,
        ),
    ),
    c.JOURNAL_SPACE: (
        Holder(
            "it writes a checkpoint and holds j_checkpoint_mutex",
            "fs/jbd2/checkpoint.c __jbd2_log_wait_for_space() calls "
            "jbd2_log_do_checkpoint() under the mutex",
            _CHECKPOINT,
            lock="j_checkpoint_mutex of a jbd2 journal",
            not_shows=_MUTEX,
            of=_MUTEX,
        ),
        Holder(
            "its commit frees space in the log",
            "fs/jbd2/checkpoint.c __jbd2_log_wait_for_space(): without a transaction "
            "to checkpoint it waits for the one that commits",
            COMMIT,
            lock="space in a jbd2 journal",
            roles=_TASKS,
        ),
    ),
    # Memory that is reclaimed may belong to a file system, which waits for its log.
    c.MEMORY: (
        Holder(
            "it commits the transaction",
            "fs/jbd2/journal.c jbd2_log_wait_commit(): kjournald2 commits",
            COMMIT,
            lock="the commit of a jbd2 transaction",
            of=names("jbd2_log_wait_commit log_wait_commit"),
        ),
        replace(_LOG[0], of=_PUSHES),
    ),
    c.LOG_SPACE: (
        Holder(
            "it moves the log's tail",
            "fs/xfs/xfs_trans_ail.c xfsaild(): the tail moves when items are written",
            _AIL,
            lock="space in an XFS log",
            of=_GRANT,
            not_of=_AIL,
        ),
        Holder(
            "it flushes the log",
            "fs/gfs2/log.c gfs2_logd(), gfs2_log_flush(): blocks of the log are free "
            "when it has moved the tail",
            names("gfs2_logd gfs2_log_flush"),
            lock="space in a gfs2 log",
            of=names("gfs2_log_reserve gfs2_log_try_reserve"),
            not_of=names("gfs2_logd gfs2_log_flush"),
            any_right=True,
        ),
        *_LOG,
    ),
}
