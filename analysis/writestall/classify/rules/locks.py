# SPDX-License-Identifier: GPL-2.0-only
"""locks: rules for locks of inodes and file systems, cluster locks included."""

from __future__ import annotations

from writestall.classify import classes as c
from writestall.classify.rules.form import EVENT, LOCK, Rule

# File operations that take the inode's own lock (i_rwsem; i_mutex before 4.7), and the
# inline functions that do it, where a log shows these.
_FILE_OPERATIONS = (
    "inode_lock*",
    "__inode_lock*",
    "fh_lock*",
    "*_write_iter",
    "*_read_iter",
    "*_file_aio_write",
    "*_file_write",
    "*_file_buffered_write",
    "*_file_buffered_aio_write",
    "*_writev",
    "*_file_dio_*write*",
    "*_file_llseek*",
    "*_file_fsync",
    "*_sync_file",
    "*_fallocate",
    "vfs_fsync*",
    "do_truncate",
    "do_sys_ftruncate",
    "notify_change",
    "chown_common",
    "chmod_common",
    "utimes_common",
    "*_getattr",
    "vfs_utimes",
    "vfs_setxattr*",
    "vfs_removexattr*",
    "*_remap_file_range*",
    "lock_two_*",
    "xfs_ilock2_*",
    "xfs_lock_two_*",
    "process_measurement",
    "iterate_dir",
    "vfs_readdir",
    "lookup_slow",
    "__lookup_slow",
    "lookup_one*",
    "lookup_create",
    "real_lookup",
    "do_lookup",
    "walk_component",
    "do_last",
    "open_last_lookups",
    "path_openat",
    "link_path_walk",
    "filename_create",
    "*_path_create",
    "start_dirop*",
    "__start_dirop*",
    "start_creating*",
    "start_removing*",
    "start_renaming*",
    "lock_rename*",
    "vfs_create",
    "vfs_mk*",
    "vfs_link",
    "vfs_symlink",
    "vfs_unlink",
    "do_unlinkat",
    "filename_unlinkat",
    "do_rmdir",
    "vfs_rmdir",
    "vfs_rename",
    "nfsd_create*",
    "nfsd_unlink",
    "nfsd_rename",
    "nfsd_link",
    "nfsd_setattr",
    "nfsd_lookup*",
    "nfsd_proc_create",
    "nfsd*_create_file",
    "lock_two_nondirectories",
    "btrfs_inode_lock",
    "btrfs_buffered_write",
    "btrfs_direct_write",
    "nfs_start_io_*",
    "netfs_start_io_*",
    "ceph_start_io_*",
)

# Prefixes of file systems' functions.
_FILE_SYSTEMS = (
    "ext[234] jbd jbd2 xfs xlog btrfs f2fs mb_cache nfs nfs4 fuse ceph ocfs2 gfs2"
    " cifs smb2 ovl nilfs dquot reiserfs jfs fat msdos vfat exfat ntfs ni attr udf hfs"
    " hfsplus ubifs bch2 zfs zpl dbuf dmu dnode jffs2 v9fs afs netfs fscache ecryptfs"
)

RULES: tuple[Rule, ...] = (
    # Cluster locks.
    Rule(
        c.FS_LOCK,
        (
            "gfs2_glock_*",
            "__gfs2_glock_*",
            "__ocfs2_cluster_lock",
            "ocfs2_cluster_lock",
            "ocfs2_wait_for_mask",
            "ocfs2_*_lock_full*",
            "ocfs2_rw_lock",
            "dlm_lock_sync",
            "dlmlock",
        ),
        "fs/gfs2/glock.c gfs2_glock_wait(), fs/ocfs2/dlmglue.c __ocfs2_cluster_lock(): "
        "until the lock manager of the cluster grants the inode's lock to this node",
    ),
    Rule(
        c.FS_LOCK,
        ("zfs_rangelock_*", "zfs_range_lock*"),
        "OpenZFS module/zfs/zfs_rlock.c: a lock on a range of a file",
    ),
    Rule(
        c.FS_LOCK,
        (
            "__sb_start_write",
            "sb_start_*",
            "vfs_write*",
            "do_iter_write",
            "vfs_iter_write",
            "do_iter_readv_writev",
            "io_write",
            "do_page_mkwrite",
            "vfs_copy_file_range",
            "mnt_want_write*",
            "vfs_check_frozen",
            "freeze_super*",
            "thaw_super*",
            "iterate_supers*",
            "__iterate_supers",
            "super_lock*",
            "__super_lock*",
            "grab_super*",
            "get_super*",
            "user_get_super",
            "lock_super",
            "deactivate_super",
            "sync_supers",
            "dqget",
            "wait_on_dquot",
            "dqput",
        ),
        "fs/super.c: s_umount, and s_writers, which a frozen file system holds and "
        "every write takes (include/linux/fs.h sb_start_write(), often inlined); "
        "fs/quota/dquot.c: a quota's own lock",
        wait=(LOCK, EVENT),
        first=True,
        bare=True,
    ),
    # Locks: in a file operation the inode's, elsewhere the file system's.
    Rule(
        c.INODE_LOCK,
        _FILE_OPERATIONS,
        "include/linux/fs.h inode_lock(): i_rwsem since 4.7 (commit 9902af79c01a), "
        "i_mutex before; taken by the file operation itself",
        wait=(LOCK,),
        first=True,
        bare=True,
    ),
    Rule(
        c.INODE_LOCK,
        ("__fdget_pos", "fdget_pos", "__f_unlock_pos"),
        "fs/file.c __fdget_pos() (since 3.14): f_pos_lock, of the open file, is "
        "another thread's for the whole of its read() or write()",
        wait=(LOCK,),
        bare=True,
    ),
    Rule(
        c.FS_LOCK,
        ("ext[234]_*", "xfs_*", "_xfs_buf_find"),
        "fs/ext4/, fs/xfs/: what these functions wait for without a function of their "
        "own is a lock",
        wait=(LOCK,),
        bare=True,
    ),
    Rule(
        c.FS_LOCK,
        tuple(
            f"{mark}{fs}_*" for fs in _FILE_SYSTEMS.split() for mark in ("", "_", "__")
        ),
        "a rwsem, mutex or semaphore taken by a function of the file system that is no "
        "file operation: i_data_sem in fs/ext4/inode.c ext4_map_blocks(), the ILOCK in "
        "fs/xfs/xfs_inode.c, a buffer's semaphore in fs/xfs/xfs_buf.c",
        wait=(LOCK,),
    ),
)
