# SPDX-License-Identifier: GPL-2.0-only
"""rules_roles: rules that turn the functions of a stack into who the task is.

Read in this order: the first rule with a function anywhere on the stack decides.
"""

from __future__ import annotations

from writestall import classes as c
from writestall.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        c.JOURNAL,
        (
            "kjournald",
            "kjournald2",
            "xfsaild",
            "xlog_cil_push_work",
            "xlog_ioend_work",
            "xfs_log_worker",
            "transaction_kthread",
            "issue_checkpoint_thread",
            "txg_sync_thread",
        ),
        "fs/jbd2/journal.c, fs/xfs/xfs_trans_ail.c, xfs_log_cil.c, xfs_log.c, "
        "fs/btrfs/disk-io.c, fs/f2fs/checkpoint.c: threads and work that commit",
    ),
    Rule(
        c.WRITEBACK,
        (
            "wb_workfn",
            "wb_do_writeback",
            "bdi_writeback_workfn",
            "bdi_writeback_thread",
            "bdi_writeback_task",
            "bdi_start_fn",
            "pdflush",
            "__pdflush",
            "background_writeout",
            "wb_kupdate",
        ),
        "fs/fs-writeback.c wb_workfn() (since 4.2; bdi_writeback_workfn() since 3.10, "
        "threads before), mm/pdflush.c before 2.6.32",
    ),
    Rule(
        c.WRITEBACK,
        (
            "ext4_end_io_*work",
            "ext4_end_io_work",
            "xfs_end_io",
            "xfs_end_bio*",
            "iomap_finish_ioend*",
            "finish_ordered_fn",
            "btrfs_finish_ordered_io",
            "btrfs_finish_one_ordered",
            "submit_compressed_extents",
            "btrfs_run_delalloc_work",
            "flush_space",
        ),
        "fs/ext4/page-io.c, fs/xfs/xfs_aops.c, fs/btrfs/inode.c: work behind the end "
        "of a page's writeback, or that starts it",
    ),
    Rule(
        c.WRITER,
        (
            "vfs_write*",
            "__vfs_write",
            "do_sync_write",
            "new_sync_write",
            "do_iter_write",
            "do_iter_readv_writev",
            "vfs_iter_write",
            "vfs_iocb_iter_write",
            "generic_perform_write",
            "generic_file_*write*",
            "*_file_write",
            "*_file_write_iter",
            "*_file_buffered_write*",
            "*_file_aio_write",
            "*_buffered_write_iter",
            "ksys_write",
            "ksys_pwrite64",
            "do_writev",
            "do_pwritev",
            "*sys_write",
            "*sys_pwrite*",
            "*sys_writev",
            "*sys_fsync",
            "*sys_fdatasync",
            "*sys_sync*",
            "*sys_msync",
            "do_fsync",
            "vfs_fsync*",
            "*_file_fsync",
            "*_sync_file",
            "file_write_and_wait_range",
            "generic_write_sync",
            "sync_filesystem",
            "iterate_supers",
            "aio_write",
            "io_write",
            "io_fsync",
            "*_page_mkwrite",
            "do_page_mkwrite",
            "filemap_flush",
            "filp_close",
            "splice_write*",
            "*_splice_write",
            "generic_file_splice_write",
            "nfsd_vfs_write",
            "nfsd_commit",
            "*_fallocate",
        ),
        "fs/read_write.c, fs/sync.c, fs/aio.c, io_uring/rw.c, mm/memory.c "
        "do_page_mkwrite(), fs/nfsd/vfs.c: calls that write or wait for what is "
        "written; fs/open.c filp_close() flushes a network file",
    ),
)
# By name, where the functions say nothing: what these threads are called by
# fs/jbd2/journal.c, fs/xfs/xfs_trans_ail.c, fs/btrfs/disk-io.c, fs/fs-writeback.c.
COMMS: tuple[tuple[str, str], ...] = (
    (c.JOURNAL, r"jbd2/.+|kjournald.*|xfsaild.*|btrfs-transac.*|f2fs_ckpt.*"),
    (c.WRITEBACK, r"flush-.*|pdflush|kworker/.*flush.*|bdi-.*"),
)
