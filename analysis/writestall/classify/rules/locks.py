# SPDX-License-Identifier: GPL-2.0-only
"""locks: rules for locks of inodes and file systems, a cluster's included."""

from __future__ import annotations

from writestall.classify import named_waits as w
from writestall.classify.rules.form import EVENT, LOCK, Rule, names
from writestall_base import wait_classes as c

# File operations that take the inode's own lock (i_rwsem; i_mutex before 4.7), and the
# inline functions that do it, where a log shows these.
_FILE_OPERATIONS = names(
    "inode_lock* __inode_lock* fh_lock* *_write_iter *_read_iter *_file_aio_write "
    "*_file_write *_file_buffered_write *_file_buffered_aio_write *_writev "
    "*_file_dio_*write* *_llseek* *_file_fsync *_sync_file *_fallocate vfs_fsync* "
    "do_truncate do_sys_ftruncate notify_change chown_common chmod_common f2fs_fiemap "
    "btrfs_fiemap gfs2_fiemap nilfs_fiemap utimes_common *_getattr vfs_utimes "
    "vfs_setxattr* vfs_removexattr* *_remap_file_range* lock_two_* xfs_ilock2_* "
    "xfs_lock_two_* process_measurement iterate_dir wrap_directory_iterator "
    "vfs_readdir lookup_slow __lookup_slow lookup_one* lookup_create real_lookup "
    "do_lookup walk_component do_last open_last_lookups path_openat link_path_walk "
    "filename_create *_path_create start_dirop* __start_dirop* start_creating* "
    "start_removing* start_renaming* __start_renaming* __start_removing* "
    "__start_creating* lock_rename* do_renameat2 filename_renameat2 vfs_fileattr_set "
    "vfs_create vfs_mk* vfs_link vfs_symlink vfs_unlink do_unlinkat filename_unlinkat "
    "do_rmdir filename_rmdir vfs_rmdir vfs_rename nfsd_create* nfsd_unlink "
    "nfsd_rename nfsd_link nfsd_setattr nfsd_lookup* nfsd_proc_create "
    "nfsd*_create_file lock_two_nondirectories generic_file_splice_write "
    "btrfs_get_dir_last_index btrfs_inode_lock btrfs_buffered_write "
    "btrfs_direct_write nfs_start_io_* netfs_start_io_* ceph_start_io_* "
    "fuse_reverse_inval_entry simple_recursive_removal"
)

# mm/mmap.c, mm/memory.c, mm/gup.c, arch/*/mm/fault.c, fs/proc/base.c, kernel/exit.c.
MMAP_LOCK = names(
    "mmap_read_lock* mmap_write_lock* lock_mm_and_find_vma get_mmap_lock_carefully "
    "upgrade_mmap_lock_carefully do_user_addr_fault do_page_fault __do_page_fault "
    "proc_pid_cmdline_read environ_read mem_rw pagemap_read get_mm_cmdline get_cmdline "
    "access_remote_vm __access_remote_vm vm_mmap_pgoff vm_munmap __vm_munmap "
    "vm_brk_flags *sys_brk *sys_munmap *sys_mremap *sys_mprotect do_mprotect_pkey* "
    "do_madvise *sys_madvise do_mlock exit_mm exit_mmap do_exit dup_mm dup_mmap "
    "exec_mmap setup_arg_pages __get_user_pages_* get_user_pages_* "
    "__gup_longterm_locked collapse_huge_page show_smap* smaps_* task_numa_work"
)

_PERCPU = ("percpu_rwsem_wait", "__percpu_down_read*", "percpu_down_read*")
# Where writes start (include/linux/fs.h sb_start_write() and its kin).
_FREEZABLE = names(
    "__sb_start_write sb_start_* vfs_write* do_iter_write vfs_iter_write "
    "do_iter_readv_writev io_write do_page_mkwrite vfs_copy_file_range mnt_want_write* "
    "direct_splice_actor vfs_check_frozen"
)
_STARTS_WRITE = names(
    "xfs_trans_alloc* start_transaction ext4_evict_inode ext4_quota_off* "
    "ext2_evict_inode f2fs_evict_inode issue_discard_thread *gfs2_trans_begin "
    "nilfs_transaction_begin ocfs2_start_trans *_page_mkwrite *_vm_page_mkwrite "
    "filemap_page_mkwrite *_filemap_fault *_dax_huge_fault vfs_fallocate "
    "do_sys_ftruncate do_ftruncate aio_write ksys_pwrite64 do_splice*"
)

# Prefixes of file systems' functions.
_FILE_SYSTEMS = (
    "ext[234] jbd jbd2 xfs xlog btrfs f2fs mb_cache nfs nfs4 fuse ceph ocfs2 gfs2"
    " cifs smb2 ovl nilfs dquot reiserfs jfs fat msdos vfat exfat ntfs ni attr udf hfs"
    " hfsplus ubifs bch2 zfs zpl dbuf dmu dnode jffs2 v9fs afs netfs fscache ecryptfs"
)

RULES: tuple[Rule, ...] = (
    Rule(
        c.INODE_LOCK,
        (
            "d_alloc_parallel",
            "d_wait_lookup",
        ),
        "fs/dcache.c d_alloc_parallel(): until another task's lookup of the same name "
        "is over",
        not_wait=(LOCK,),
        first=True,
        named=w.LOOKED_UP,
    ),
    Rule(
        c.INODE_LOCK,
        names(
            "__wait_on_freeing_inode inode_wait_for_lru_isolating find_inode "
            "find_inode_* wait_on_inode __wait_on_inode wait_on_new_inode "
            "inode_wait ifind ifind_fast iget_locked iget5_locked* ilookup* "
            "insert_inode_locked*"
        ),
        "fs/inode.c __wait_on_freeing_inode() until the inode is evicted, "
        "wait_on_new_inode() until it is read in",
        not_wait=(LOCK,),
        first=True,
        named=w.READ_OR_FREED,
    ),
    Rule(
        c.OTHER,
        MMAP_LOCK,
        "include/linux/mmap_lock.h mmap_read_lock(), mmap_write_lock() (since 5.8; "
        "mmap_sem before): page faults hold it for reading, mmap(2) and the like for "
        "writing, and reading /proc/PID/cmdline takes it of another process",
        wait=(LOCK,),
        first=True,
        named=w.MEMORY_MAP,
    ),
    # Locks that a cluster shares.
    Rule(
        c.FS_LOCK,
        names(
            "gfs2_glock_* __gfs2_glock_* __ocfs2_cluster_lock ocfs2_cluster_lock "
            "ocfs2_wait_for_mask ocfs2_*_lock_full* ocfs2_rw_lock dlmlock"
        ),
        "fs/gfs2/glock.c gfs2_glock_wait(), fs/ocfs2/dlmglue.c __ocfs2_cluster_lock(): "
        "until the lock manager of the cluster grants the inode's lock to this node",
        named=w.CLUSTER_INODE,
    ),
    Rule(
        c.RAID_OR_DM,
        ("dlm_lock_sync", "dlm_lock_sync_interruptible"),
        "drivers/md/md-cluster.c dlm_lock_sync(): until the lock manager of the "
        "cluster grants a lock of the array to this node",
        named=w.CLUSTER_LOCK,
    ),
    Rule(
        c.FS_LOCK,
        ("zfs_rangelock_*", "zfs_range_lock*"),
        "OpenZFS module/zfs/zfs_rlock.c: a lock on a range of a file",
    ),
    Rule(
        c.FS_LOCK,
        ("freeze_super", "sb_wait_write"),
        "fs/super.c sb_wait_write(): percpu_down_write() of s_writers, which writes "
        "hold for reading",
        wait=(LOCK,),
        first=True,
        named=w.FREEZES,
    ),
    Rule(
        c.FS_LOCK,
        _PERCPU,
        "fs/super.c freeze_super(): s_writers, a per-CPU rw-semaphore that only a "
        "freeze takes for writing; include/linux/fs.h sb_start_intwrite(), inlined "
        "into these functions of file systems",
        by=_STARTS_WRITE,
        named=w.FROZEN,
    ),
    Rule(
        c.FS_LOCK,
        _FREEZABLE,
        "include/linux/fs.h sb_start_write(), often inlined; fs/namespace.c "
        "mnt_want_write(): s_writers, which only freeze_super() takes for writing",
        wait=(LOCK, EVENT),
        first=True,
        bare=True,
        named=w.FROZEN,
    ),
    Rule(
        c.FS_LOCK,
        names(
            "freeze_super* thaw_super* iterate_supers* __iterate_supers super_lock* "
            "__super_lock* grab_super* get_super* user_get_super lock_super "
            "deactivate_super sync_supers path_mount do_remount do_reconfigure_mnt "
            "vfs_cmd_reconfigure *sys_fsconfig *sys_syncfs dqget wait_on_dquot dqput"
        ),
        "fs/super.c, fs/namespace.c do_remount(), inlined into path_mount(), "
        "fs/fsopen.c vfs_cmd_reconfigure(), fs/sync.c syncfs(): s_umount; "
        "fs/quota/dquot.c: a quota's own lock",
        wait=(LOCK, EVENT),
        first=True,
        bare=True,
    ),
    Rule(
        c.FS_LOCK,
        ("super_lock*", "grab_super*"),
        "fs/super.c super_lock(), grab_super() (since 6.6): until the superblock is "
        "born, or dead",
        first=True,
        bare=True,
        named=w.MOUNTING,
    ),
    # Locks: of a file operation the inode's, of anything else the file system's own.
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
        named=w.OPEN_FILE,
    ),
    Rule(
        c.FS_LOCK,
        ("ext[234]_*", "xfs_*", "_xfs_buf_find", "fuse_lock_inode"),
        "fs/ext4/, fs/xfs/, fs/fuse/inode.c fuse_lock_inode(): what these functions "
        "wait for without a function of their own is a lock",
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
