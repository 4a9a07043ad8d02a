# SPDX-License-Identifier: GPL-2.0-only
"""roles: rules that find a task's role by the functions of its stack.

Read in this order: the first rule with a function anywhere on the stack decides.
"""

from __future__ import annotations

from writestall.classify.rules.form import Rule, names
from writestall_base import wait_classes as c

RULES: tuple[Rule, ...] = (
    Rule(
        c.ROLE_OTHER,
        names(
            "kernfs_fop_write* sysfs_write_file proc_reg_write* proc_sys_write "
            "proc_sys_call_handler fuse_dev_*write generic_shutdown_super freeze_super "
            "freeze_bdev do_remount_sb reconfigure_super"
        ),
        "fs/kernfs/file.c, fs/proc/, fs/fuse/dev.c: a write(2) that is an order to the "
        "kernel, no data; fs/super.c: the end or the halt of a file system writes what "
        "others have dirtied",
        not_callers=("wb_workfn",),
    ),
    Rule(
        c.JOURNAL,
        names(
            "kjournald kjournald2 xfsaild xlog_cil_push_work xlog_ioend_work "
            "xfs_log_worker transaction_kthread issue_checkpoint_thread "
            "txg_sync_thread txg_quiesce_thread xfs_sync_worker xfssyncd xfsbufd "
            "gfs2_logd jfs_lazycommit jfs_sync jfsIOWait nilfs_segctor_thread "
            "nilfs_log_write_thread ubifs_bg_thread flush_async_commits "
            "ocfs2_commit_thread bch2_journal_reclaim_thread bch2_journal_write_work"
        ),
        "fs/jbd2/journal.c, fs/xfs/xfs_trans_ail.c, xfs_log_cil.c, xfs_log.c (before "
        "3.5 linux-2.6/xfs_sync.c, xfs_buf.c), fs/btrfs/disk-io.c, fs/f2fs/"
        "checkpoint.c, fs/gfs2/log.c, fs/jfs/jfs_txnmgr.c, fs/nilfs2/segment.c, "
        "fs/ubifs/commit.c, fs/reiserfs/journal.c: threads and work that commit",
    ),
    Rule(
        c.WRITEBACK,
        names(
            "wb_workfn wb_do_writeback wb_writeback bdi_writeback_workfn "
            "bdi_writeback_thread bdi_writeback_task bdi_start_fn pdflush __pdflush "
            "background_writeout wb_kupdate bdi_sync_supers bdi_forker_*"
        ),
        "fs/fs-writeback.c wb_workfn() (since 4.2; bdi_writeback_workfn() since 3.10, "
        "threads before), mm/pdflush.c before 2.6.32",
    ),
    Rule(
        c.WRITEBACK,
        names(
            "ext4_end_*_work ext4_end_io_*work ext4_iomap_end_io "
            "iomap_dio_complete_work "
            "dio_aio_complete_work xfs_end_io xfs_end_bio* iomap_finish_ioend* "
            "finish_ordered_fn btrfs_finish_ordered_io btrfs_finish_one_ordered "
            "submit_compressed_extents async_cow_* run_scheduled_bios pending_bios_fn "
            "btrfs_run_delalloc_work btrfs_run_ordered_extent_work "
            "btrfs_writepage_fixup_worker btrfs_async_reclaim_* "
            "btrfs_preempt_reclaim_*"
        ),
        "fs/ext4/page-io.c (ext4_iomap_end_io() in the proposed buffered_iomap, "
        "linux-ext4 20260203062523.3869120-14-yi.zhang@huawei.com), fs/xfs/xfs_aops.c, "
        "fs/direct-io.c, fs/iomap/direct-io.c, "
        "fs/btrfs/inode.c, space-info.c: work behind the end of a page's writeback or "
        "of a direct write, or that starts one",
    ),
    Rule(
        c.WRITEBACK,
        ("flush_space", "cifs_writev_complete", "cifs_writev_requeue"),
        "fs/btrfs/space-info.c flush_space(): a worker that makes room by writing; "
        "fs/smb/client/cifssmb.c: one that ends or repeats the write of pages",
        callers=("process_one_work",),
    ),
    Rule(
        c.WRITER,
        names(
            "vfs_write* __vfs_write do_sync_write new_sync_write do_iter_write "
            "do_iter_readv_writev vfs_iter_write vfs_iocb_iter_write "
            "generic_perform_write generic_file_*write* kernel_write* __kernel_write* "
            "dump_emit *_file_write *_write_iter *_file_buffered_*write* "
            "*_file_dio_*write* *_file_aio_write *_direct_write *_perform_write "
            "*_write_begin *_write_end zfs_write zpl_write zpl_write_common* "
            "zpl_aio_write zpl_iter_write* *_strict_writev ksys_write ksys_pwrite64 "
            "do_writev do_pwritev *sys_write *sys_pwrite* *sys_writev *sys_fsync "
            "*sys_fdatasync *sys_sync* *sys_msync do_fsync vfs_fsync* *_file_fsync "
            "*_sync_file file_write_and_wait_range generic_write_sync sync_filesystem "
            "iterate_supers aio_write io_write io_fsync *_page_mkwrite do_page_mkwrite "
            "filemap_flush filp_close filp_flush splice_write* *_splice_write "
            "generic_file_splice_write nfsd_vfs_write nfsd_commit *_fallocate "
            "vfs_copy_file_range *_copy_file_range *_remap_file_range "
            "vfs_clone_file_range zpl_fsync"
        ),
        "fs/read_write.c, fs/sync.c, fs/aio.c, io_uring/rw.c, mm/memory.c "
        "do_page_mkwrite(), fs/nfsd/vfs.c: calls that write or wait for what is "
        "written; fs/open.c filp_flush() (filp_close() before 6.6): a network file's",
    ),
    Rule(
        c.WRITEBACK,
        ("writeback_sb_inodes", "__writeback_inodes_wb"),
        "fs/fs-writeback.c: called by the flusher alone since 3.2, so it also where a "
        "log is cut off before wb_workfn()",
        not_callers=("balance_dirty_pages*",),
    ),
)
# By name, if no function matches: names of threads and work queues in
# fs/jbd2/journal.c, fs/xfs/, fs/btrfs/disk-io.c, fs/f2fs/checkpoint.c, fs/gfs2/log.c,
# fs/jfs/, fs/nilfs2/segment.c, fs/ocfs2/journal.c,
# fs/reiserfs/journal.c, OpenZFS; fs/fs-writeback.c, mm/backing-dev.c,
# fs/ext4/page-io.c. A worker's own name ends in its queue's since 4.18 (commit
# 6b59808bfe48), and the log's line "Workqueue:" begins with it.
_QUEUE = r"kworker/(?:\S*[-+])?"
COMMS: tuple[tuple[str, str], ...] = (
    (
        c.JOURNAL,
        r"jbd2/.+|kjournald.*|xfsaild.*|btrfs-transac.*|f2fs_ckpt.*|xfslogd.*|xfs-cil.*"
        r"|xfs-sync.*|xfssyncd.*|xfsbufd.*|txg_sync|txg_quiesce|gfs2_logd.*|jfsCommit"
        r"|jfsSync|jfsIO|segctord|ocfs2cmt.*|ubifs_bgt.*|reiserfs/.*"
        rf"|{_QUEUE}(?:xfs-cil|xfs-sync|xfs-log|xfslogd|reiserfs/).*",
    ),
    (
        c.WRITEBACK,
        r"flush-.*|pdflush|sync_supers|bdi-.*|xfsdatad.*|xfsconvertd.*|xfs-conv.*"
        r"|ext4-dio-unwrit.*|btrfs-(?:endio-wri|delalloc|submit|flush_del|fixup).*"
        rf"|{_QUEUE}(?:flush-|writeback\b|xfs-conv|ext4-(?:rsv|unrsv|dio)|dio/"
        r"|btrfs-(?:endio-write|delalloc|flush_delalloc|submit|fixup)).*",
    ),
)
