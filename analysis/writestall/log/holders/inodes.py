# SPDX-License-Identifier: GPL-2.0-only
"""inodes: who can hold the lock of an inode, a file or a folder, or brings or frees it.

None names its owner on a stack: all are `possible`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from writestall.log.holders.form import GUESS, Holder, names
from writestall_base import wait_classes as c

# fs/namei.c, readdir.c, fuse/dir.c, libfs.c: these take a directory's i_rwsem.
_LOCKS_DIRECTORY = names(
    "path_openat open_last_lookups do_last lookup_open lookup_slow __lookup_slow "
    "lookup_one* lookup_create real_lookup do_lookup walk_component link_path_walk "
    "filename_create kern_path_create user_path_create start_dirop* __start_dirop* "
    "start_creating* start_removing* start_renaming* __start_renaming* lock_rename* "
    "do_renameat2 filename_renameat2 do_unlinkat filename_unlinkat do_rmdir "
    "filename_rmdir iterate_dir vfs_readdir vfs_mkdir vfs_create "
    "btrfs_get_dir_last_index btrfs_opendir fuse_reverse_inval_entry "
    "simple_recursive_removal"
)
_IN_DIRECTORY = names(
    "*_lookup *_create *_mkdir *_mknod *_unlink *_rmdir *_rename *_rename2 *_link "
    "*_symlink *_tmpfile *_atomic_open *_readdir *_iterate *_iterate_shared "
    "xfs_vn_ci_lookup xfs_generic_create nfs_force_lookup_revalidate iterate_dir "
    "btrfs_mksubvol btrfs_ioctl_snap_destroy btrfs_create_common"
)
_DIRECTORY_CALL = names(
    "path_openat open_last_lookups do_last lookup_open lookup_slow __lookup_slow "
    "lookup_one* filename_create do_mkdirat do_mknodat do_symlinkat do_linkat "
    "do_unlinkat filename_unlinkat do_rmdir do_renameat2 filename_mkdirat "
    "filename_linkat filename_symlinkat filename_mknodat filename_rmdir "
    "filename_renameat2 iterate_dir vfs_readdir vfs_mkdir vfs_unlink vfs_rename "
    "vfs_rmdir vfs_link vfs_symlink vfs_create btrfs_ioctl"
)
# fs/readdir.c iterate_dir(), fs/namei.c lookup_slow(): since 4.7 they share the lock.
_SHARES_DIRECTORY = names("iterate_dir lookup_slow __lookup_slow")
_SECOND_LOCK = names("vfs_unlink vfs_rename vfs_rmdir vfs_link")
# Of a file: fs/ext4/file.c, fs/xfs/xfs_file.c, mm/filemap.c; of the fsyncs those named.
_IN_FILE = names(
    "ext4_file_write_iter ext4_buffered_write_iter ext4_dio_write_iter "
    "ext4_dax_write_iter ext4_dio_read_iter ext4_file_write ext4_fallocate "
    "ext4_setattr ext4_collapse_range ext4_insert_range generic_file_write_iter "
    "generic_file_aio_write xfs_file_buffered_write xfs_file_buffered_aio_write "
    "xfs_file_dio_*write* xfs_file_buffered_read xfs_file_read_iter xfs_file_dio_read "
    "xfs_file_fallocate __xfs_file_fallocate xfs_vn_fiemap xfs_vn_setattr* "
    "btrfs_buffered_write btrfs_direct_write btrfs_sync_file btrfs_fallocate "
    "btrfs_setattr f2fs_file_write_iter f2fs_fallocate f2fs_setattr nfs_file_write "
    "ocfs2_file_write_iter ceph_write_iter cifs_strict_writev cifs_writev "
    "cifs_file_write_iter netfs_file_write_iter fuse_cache_write_iter "
    "fuse_file_write_iter gfs2_file_write_iter do_truncate notify_change chown_common "
    "chmod_common vfs_setxattr vfs_removexattr vfs_fileattr_set jfs_fsync "
    "exfat_file_write_iter exfat_file_read_iter *generic_file_fsync fuse_fsync "
    "ceph_fsync hfs*_file_fsync ubifs_fsync f2fs_fiemap btrfs_fiemap gfs2_fiemap "
    "nilfs_fiemap btrfs_clone* btrfs_extent_same* xfs_reflink_remap_* "
    "ocfs2_reflink_remap_* *generic_remap_*"
)
# fs/xfs/xfs_file.c, fs/ext4/file.c, fs/f2fs/data.c: reads share the lock.
_SHARES_FILE = names(
    "ext4_dio_read_iter xfs_file_buffered_read xfs_file_read_iter xfs_file_dio_read "
    "f2fs_fiemap btrfs_fiemap gfs2_fiemap xfs_vn_fiemap"
)
# fs/namei.c: these lock the file whose name they change, too.
_NAMES_FILE = names("vfs_link vfs_unlink vfs_rename")
_POSITION = names("__fdget_pos fdget_pos")
_USES_POSITION = names(
    "ksys_read ksys_write *sys_read *sys_write *sys_getdents* *sys_lseek"
)
_NEW_OR_FREED = names(
    "__wait_on_freeing_inode find_inode find_inode_fast find_inode_rcu "
    "find_inode_by_ino_rcu"
)
_NEW = names(
    "wait_on_inode __wait_on_inode wait_on_new_inode iget_locked iget5_locked* "
    "ilookup* insert_inode_locked*"
)
_READS_INODE = names(
    "*_iget __ext4_iget *_read_locked_inode *_read_inode xfs_iget_cache_* "
    "gfs2_inode_lookup nfs_fhget ceph_fill_inode bch2_inode_hash_init_insert"
)
_LOOKS_UP = names("d_alloc_parallel d_wait_lookup")
_NO_FILE = re.compile(
    "|".join(
        pattern.pattern
        for pattern in (_LOCKS_DIRECTORY, _NEW_OR_FREED, _NEW, _LOOKS_UP, _POSITION)
    )
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.FS_LOCK: (
        replace(
            GUESS,
            lock="the lock of a directory (i_rwsem)",
            why="it has the directory locked, in which it changes a name",
            source="fs/nfsd/vfs.c nfsd_unlink() closes the file under the directory's "
            "lock, and with it all that flush_delayed_fput() does; fs/overlayfs/"
            "readdir.c ovl_dir_release() takes that lock",
            shows=names("nfsd_unlink nfsd_rename"),
            also=names("delayed_fput flush_delayed_fput"),
            caller=names("ovl_dir_release"),
            itself=True,
        ),
    ),
    c.INODE_LOCK: (
        replace(
            GUESS,
            lock="I_FREEING of an inode",
            why="it frees an inode",
            source="fs/inode.c __wait_on_freeing_inode() waits for evict() of the "
            "inode",
            shows=names("evict evict_inodes dispose_list"),
            caller=_NEW_OR_FREED,
        ),
        replace(
            GUESS,
            lock="I_NEW of an inode",
            why="it reads the inode in",
            source="fs/inode.c wait_on_new_inode(): I_NEW is cleared when it is read",
            shows=_READS_INODE,
            not_shows=_NEW,
            caller=_NEW,
        ),
        replace(
            GUESS,
            lock="I_NEW of an inode",
            why="it has made an inode that it is to fill",
            source="fs/ceph/mds_client.c handle_reply() calls ceph_get_inode() before "
            "it takes snap_rwsem (since 5.11), and ceph_fill_trace() after",
            shows=names("handle_reply ceph_fill_trace ceph_readdir_prepopulate"),
            not_shows=_NEW,
            of=names("ceph_get_inode"),
            caller=_NEW,
        ),
        replace(
            GUESS,
            lock="DCACHE_PAR_LOOKUP of a dentry",
            why="it is inside a lookup",
            source="fs/dcache.c d_alloc_parallel() waits until another task's lookup "
            "of the same name is over",
            shows=names("*_lookup *_atomic_open *_lookup_revalidate"),
            caller=_LOOKS_UP,
            same_program=True,
        ),
        replace(
            GUESS,
            lock="f_pos_lock of an open file",
            why="it uses the open file's position",
            source="fs/file.c __fdget_pos(): f_pos_lock is held for a whole read or "
            "write",
            shows=_USES_POSITION,
            not_shows=_POSITION,
            caller=_POSITION,
            own_program=True,
        ),
        replace(
            GUESS,
            lock="s_vfs_rename_mutex of a superblock",
            why="it renames from one directory to another",
            source="fs/namei.c lock_rename(): s_vfs_rename_mutex is held until "
            "unlock_rename(), where the directories are two",
            shows=names("vfs_rename"),
            caller=names(
                "lock_rename* lock_two_directories do_renameat2 filename_renameat2"
            ),
            of=names("*mutex_lock*"),
        ),
        replace(
            GUESS,
            lock="the lock of a directory (i_rwsem)",
            needs_all=True,
            why="it is inside an operation on a directory",
            source="fs/namei.c lookup_slow(), filename_create(), open_last_lookups(), "
            "fs/readdir.c iterate_dir(), fs/btrfs/ioctl.c btrfs_mksubvol(): they hold "
            "the directory's i_rwsem",
            shows=_IN_DIRECTORY,
            also=_DIRECTORY_CALL,
            not_in=(c.INODE_LOCK,),
            caller=_LOCKS_DIRECTORY,
            shared=_SHARES_DIRECTORY,
        ),
        replace(
            GUESS,
            lock="the lock of a directory (i_rwsem)",
            needs_all=True,
            why="it opens a name in a directory, holding that one's lock",
            source="fs/namei.c lookup_open(): the directory's i_rwsem is held while "
            "d_revalidate() asks the server",
            shows=names("*_d_revalidate *_lookup_revalidate"),
            also=names("path_openat"),
            not_shows=names("lookup_fast walk_component link_path_walk lookup_one*"),
            not_in=(c.INODE_LOCK,),
            caller=_LOCKS_DIRECTORY,
        ),
        replace(
            GUESS,
            lock="the lock of a directory (i_rwsem)",
            needs_all=True,
            why="it shares a directory's lock and waits for another's lookup there",
            source="fs/dcache.c d_alloc_parallel(): its caller has taken the "
            "directory's i_rwsem, shared",
            shows=names("d_alloc_parallel"),
            also=names("iterate_dir __lookup_slow lookup_open path_openat"),
            of=names("*down_write*"),
            caller=_LOCKS_DIRECTORY,
        ),
        replace(
            GUESS,
            lock="the lock of a directory (i_rwsem)",
            needs_all=True,
            why="it holds a directory's lock and waits for the next one",
            source="fs/namei.c vfs_unlink(), vfs_rename(): the directory's i_rwsem is "
            "taken before the victim's",
            shows=_SECOND_LOCK,
            caller=_LOCKS_DIRECTORY,
        ),
        replace(
            GUESS,
            lock="the lock of a file (i_rwsem)",
            why="it frees the blocks behind the file's end, holding its lock",
            source="fs/xfs/xfs_icache.c xfs_inode_free_eofblocks(): XFS_IOLOCK_EXCL, "
            "i_rwsem since 4.10, until xfs_free_eofblocks() has returned",
            shows=names("xfs_free_eofblocks xfs_reflink_cancel_cow_range"),
            also=names("xfs_blockgc_worker xfs_icwalk_ag xfs_inode_walk*"),
            of=names("xfs_file_*"),
        ),
        replace(
            GUESS,
            lock="the lock of a file (i_rwsem)",
            needs_all=True,
            why="it is inside an operation on a file",
            source="include/linux/fs.h inode_lock(): fs/ext4/file.c "
            "ext4_buffered_write_iter(), fs/open.c do_truncate(), ...: the file's "
            "i_rwsem",
            shows=_IN_FILE,
            not_in=(c.INODE_LOCK,),
            not_caller=_NO_FILE,
            same_program=True,
            shared=_SHARES_FILE,
        ),
        replace(
            GUESS,
            lock="the lock of a file that gains or loses a name (i_rwsem)",
            needs_all=True,
            why="it gives or takes a file's name, holding the file's lock",
            source="fs/namei.c vfs_link(), vfs_unlink(), vfs_rename(): inode_lock() of "
            "the file, until the file system has done it",
            shows=_NAMES_FILE,
            not_in=(c.INODE_LOCK,),
            not_caller=_NO_FILE,
        ),
    ),
}
