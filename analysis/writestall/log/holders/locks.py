# SPDX-License-Identifier: GPL-2.0-only
"""locks: who can hold the locks of inodes and of file systems.

No lock of this kind names its owner on a stack. So all of these are `possible`, and
only where exactly one task fits.
"""

from __future__ import annotations

import re
from dataclasses import replace

from writestall.log.holders.form import Holder, names
from writestall.log.holders.transactions import (
    BTRFS_BEFORE_RANGE,
    BTRFS_RANGE_HOLDERS,
    BTRFS_RANGE_WAITING,
    BTRFS_RANGE_WAITS,
)
from writestall.log.stuck import POSSIBLE
from writestall_base import wait_classes as c

# fs/namei.c, fs/readdir.c: these take a directory's i_rwsem.
_LOCKS_DIRECTORY = names(
    "path_openat open_last_lookups do_last lookup_open lookup_slow __lookup_slow "
    "lookup_one* lookup_create real_lookup do_lookup walk_component link_path_walk "
    "filename_create kern_path_create user_path_create start_dirop* __start_dirop* "
    "start_creating* start_removing* start_renaming* lock_rename* do_unlinkat "
    "filename_unlinkat do_rmdir filename_rmdir iterate_dir vfs_readdir vfs_mkdir "
    "vfs_create"
)
_IN_DIRECTORY = names(
    "*_lookup *_create *_mkdir *_mknod *_unlink *_rmdir *_rename *_rename2 *_link "
    "*_symlink *_tmpfile *_atomic_open *_readdir *_iterate *_iterate_shared "
    "xfs_vn_ci_lookup xfs_generic_create nfs_force_lookup_revalidate iterate_dir"
)
_DIRECTORY_CALL = names(
    "path_openat open_last_lookups do_last lookup_open lookup_slow __lookup_slow "
    "lookup_one* filename_create do_mkdirat do_mknodat do_symlinkat do_linkat "
    "do_unlinkat filename_unlinkat do_rmdir do_renameat2 iterate_dir vfs_readdir "
    "vfs_mkdir vfs_unlink vfs_rename vfs_rmdir vfs_link vfs_symlink vfs_create"
)
# fs/readdir.c iterate_dir(), fs/namei.c lookup_slow(): since 4.7 they share the lock.
_SHARES_DIRECTORY = names("iterate_dir lookup_slow __lookup_slow")
_SECOND_LOCK = names("vfs_unlink vfs_rename vfs_rmdir vfs_link")
# Of a file: fs/ext4/file.c, fs/xfs/xfs_file.c, mm/filemap.c; no fsync but btrfs's.
_IN_FILE = names(
    "ext4_buffered_write_iter ext4_dio_write_iter ext4_dax_write_iter "
    "ext4_dio_read_iter ext4_file_write ext4_fallocate ext4_setattr "
    "ext4_collapse_range ext4_insert_range generic_file_write_iter "
    "generic_file_aio_write xfs_file_buffered_write xfs_file_buffered_aio_write "
    "xfs_file_dio_*write* xfs_file_buffered_read xfs_file_read_iter xfs_file_dio_read "
    "xfs_file_fallocate xfs_vn_setattr* btrfs_buffered_write btrfs_direct_write "
    "btrfs_sync_file btrfs_fallocate btrfs_setattr f2fs_file_write_iter "
    "f2fs_fallocate f2fs_setattr nfs_file_write ocfs2_file_write_iter ceph_write_iter "
    "cifs_strict_writev cifs_writev cifs_file_write_iter netfs_file_write_iter "
    "fuse_cache_write_iter fuse_file_write_iter gfs2_file_write_iter do_truncate "
    "notify_change chown_common chmod_common"
)
# fs/xfs/xfs_file.c, fs/ext4/file.c: reads share the lock.
_SHARES_FILE = names(
    "ext4_dio_read_iter xfs_file_buffered_read xfs_file_read_iter xfs_file_dio_read"
)
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
    "*_iget __ext4_iget *_read_locked_inode *_read_inode xfs_iget_cache_*"
)
_LOOKS_UP = names("d_alloc_parallel d_wait_lookup")

_NO_FILE = re.compile(
    "|".join(
        pattern.pattern
        for pattern in (_LOCKS_DIRECTORY, _NEW_OR_FREED, _NEW, _LOOKS_UP, _POSITION)
    )
)


_I_DATA_SEM = names(
    "ext4_map_blocks ext4_da_map_blocks* ext4_da_get_block_prep ext4_map_query_blocks "
    "ext4_map_create_blocks ext4_truncate ext4_ext_truncate ext4_ind_truncate "
    "ext4_punch_hole ext4_get_block*"
)
_WITH_I_DATA_SEM = names(
    "ext4_map_create_blocks ext4_ext_map_blocks ext4_ind_map_blocks ext4_ext_truncate "
    "ext4_ind_truncate ext4_ext_remove_space ext4_mb_new_blocks ext4_ext_insert_extent "
    "ext4_find_extent ext4_split_* ext4_ext_convert_*"
)
# xfs_ilock() may be a tail call, and has then no frame.
_ILOCK = names(
    "xfs_ilock* xfs_lock_inodes xfs_lock_two_inodes xfs_map_blocks xfs_iomap_* "
    "xfs_*_iomap_begin xfs_bmap* xfs_getbmap xfs_attr_get xfs_readdir xfs_lookup "
    "xfs_readlink"
)
_BUFFER_LOCK = names("xfs_buf_lock _xfs_buf_find xfs_buf_find_lock xfs_buf_get_map")
_AGI = names("xfs_read_agi xfs_ialloc_read_agi")
_AGF = names("xfs_read_agf xfs_alloc_read_agf")
_INODE_BUFFER = names("xfs_imap_to_bp")
_XFS_CHANGES = names(
    "xfs_bmapi_write xfs_bmapi_convert_* xfs_bmapi_allocate xfs_bunmapi __xfs_bunmapi "
    "xfs_trans_commit __xfs_trans_commit xfs_trans_roll* xfs_defer_* xfs_dialloc* "
    "xfs_ialloc* xfs_difree* xfs_iunlink* xfs_ifree* xfs_itruncate_extents* "
    "xfs_iomap_write_* xfs_reflink_* xfs_dir_createname xfs_dir_removename "
    "xfs_attr_set* xfs_alloc_* xfs_free_extent* xfs_ioc_swapext xfs_swap_extents "
    "xfs_buf_iowait"
)
_BTRFS_TREE = names(
    "btrfs_tree_lock* btrfs_tree_read_lock* __btrfs_tree_*lock* btrfs_lock_root_node "
    "btrfs_read_lock_root_node btrfs_try_tree_*lock*"
)
_BTRFS_SEARCH = names(
    "btrfs_search_* btrfs_next_* read_block_for_search btrfs_read_node_slot "
    "btrfs_cow_block __btrfs_cow_block btrfs_force_cow_block push_leaf_* balance_level"
)
_BTRFS_QUOTA = names(
    "btrfs_quota_enable btrfs_quota_disable btrfs_*_qgroup btrfs_*_qgroup_relation "
    "btrfs_qgroup_inherit"
)
_QUOTA = names("dqget dquot_acquire dquot_commit dquot_release wait_on_dquot dqput")
_QUOTA_WORK = names(
    "dquot_acquire dquot_commit dquot_release ext4_*_dquot qtree_* v2_*_dquot "
    "do_insert_tree"
)
_INVALIDATE = names(
    "filemap_invalidate_lock* page_cache_ra_* force_page_cache_ra filemap_create_folio "
    "filemap_fault"
)
_INVALIDATES = names(
    "ext4_punch_hole ext4_zero_range ext4_collapse_range ext4_insert_range "
    "ext4_setattr ext4_truncate xfs_file_fallocate xfs_vn_setattr* xfs_setattr_size "
    "f2fs_fallocate f2fs_setattr fuse_file_fallocate btrfs_punch_hole"
)

_GUESS = Holder("", "", names(""), confidence=POSSIBLE)
# What a holder of an inner lock is not: still before it, or in a queue of its own.
_BEFORE = (c.DIRTY_THROTTLE, c.INODE_LOCK, c.JOURNAL_SPACE)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.INODE_LOCK: (
        replace(
            _GUESS,
            lock="I_FREEING of an inode",
            why="it frees an inode",
            source="fs/inode.c __wait_on_freeing_inode() waits for evict() of the "
            "inode",
            shows=names("evict evict_inodes dispose_list"),
            caller=_NEW_OR_FREED,
        ),
        replace(
            _GUESS,
            lock="I_NEW of an inode",
            why="it reads the inode in",
            source="fs/inode.c wait_on_new_inode(): I_NEW is cleared when it is read",
            shows=_READS_INODE,
            not_shows=_NEW,
            caller=_NEW,
        ),
        replace(
            _GUESS,
            lock="DCACHE_PAR_LOOKUP of a dentry",
            why="it is inside a lookup",
            source="fs/dcache.c d_alloc_parallel() waits until another task's lookup "
            "of the same name is over",
            shows=names("*_lookup *_atomic_open *_lookup_revalidate"),
            caller=_LOOKS_UP,
        ),
        replace(
            _GUESS,
            lock="f_pos_lock of an open file",
            why="it uses the open file's position",
            source="fs/file.c __fdget_pos(): f_pos_lock is held for a whole read or "
            "write",
            shows=_USES_POSITION,
            not_shows=_POSITION,
            caller=_POSITION,
            same_program=True,
        ),
        replace(
            _GUESS,
            lock="i_rwsem of a directory",
            why="it is inside an operation on a directory",
            source="fs/namei.c lookup_slow(), filename_create(), open_last_lookups(), "
            "fs/readdir.c iterate_dir(): they hold the directory's i_rwsem",
            shows=_IN_DIRECTORY,
            also=_DIRECTORY_CALL,
            not_in=(c.INODE_LOCK,),
            caller=_LOCKS_DIRECTORY,
            shared=_SHARES_DIRECTORY,
        ),
        replace(
            _GUESS,
            lock="i_rwsem of a directory",
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
            _GUESS,
            lock="i_rwsem of a directory",
            why="it holds a directory's lock and waits for the next one",
            source="fs/namei.c vfs_unlink(), vfs_rename(): the directory's i_rwsem is "
            "taken before the victim's",
            shows=_SECOND_LOCK,
            caller=_LOCKS_DIRECTORY,
        ),
        replace(
            _GUESS,
            lock="i_rwsem of a file",
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
    ),
    c.OTHER: (
        replace(
            _GUESS,
            lock="the ILOCK or IFLUSHING of an inode of a cluster",
            why="it has an inode of the cluster and waits for the buffer",
            source="fs/xfs/xfs_inode.c xfs_ifree_cluster() waits for each inode in "
            "memory; xfs_icache.c xfs_reclaim_inode() has one locked",
            shows=names("xfs_iflush_shutdown_abort xfs_reclaim_inode* xfs_iflush*"),
            caller=names("xfs_ifree xfs_ifree_cluster"),
        ),
    ),
    c.FS_LOCK: (
        replace(
            _GUESS,
            lock="i_data_sem of ext4",
            why="it changes a file's block map",
            source="fs/ext4/inode.c ext4_map_blocks(), ext4_truncate(): i_data_sem",
            shows=_WITH_I_DATA_SEM,
            not_in=(*_BEFORE, c.FS_LOCK, c.JOURNAL_TRANSACTION),
            caller=_I_DATA_SEM,
        ),
        replace(
            _GUESS,
            lock="s_orphan_lock of ext4",
            why="it changes the list of orphans",
            source="fs/ext4/orphan.c ext4_orphan_del() holds s_orphan_lock while it "
            "gets access to a buffer",
            shows=names("ext4_orphan_del ext3_orphan_del"),
            not_in=(c.FS_LOCK,),
            caller=names("ext*_orphan_add ext*_orphan_del"),
        ),
        replace(
            _GUESS,
            lock="the ILOCK of an XFS inode",
            why="it changes an inode in a transaction",
            source="fs/xfs/xfs_trans_inode.c xfs_trans_ijoin(): the ILOCK is held "
            "until the transaction ends",
            shows=_XFS_CHANGES,
            not_shows=names("xfs_ilock* xfs_trans_alloc*"),
            not_in=_BEFORE,
            caller=_ILOCK,
        ),
        replace(
            _GUESS,
            lock="the AGI's buffer of XFS",
            why="it allocates an inode with the group's AGI locked",
            source="fs/xfs/libxfs/xfs_ialloc.c xfs_dialloc(): the AGI's buffer is "
            "locked before the AGF's, and both until the transaction ends",
            shows=names("xfs_ialloc_ag_alloc xfs_dialloc* xfs_difree* xfs_inobt_*"),
            not_shows=_AGI,
            of=_AGI,
        ),
        replace(
            _GUESS,
            lock="a buffer of XFS (AGF, AGI, a btree block)",
            why="it has the buffers of its transaction locked",
            source="fs/xfs/xfs_trans_buf.c xfs_trans_read_buf_map(): a transaction "
            "keeps its buffers locked until it ends",
            shows=_XFS_CHANGES,
            not_shows=names("xfs_buf_lock xfs_ilock* xfs_trans_alloc*"),
            not_in=(*_BEFORE, c.FS_LOCK),
            of=_BUFFER_LOCK,
        ),
        replace(
            _GUESS,
            lock="a buffer of XFS (inodes, quotas)",
            why="it writes an inode or quota with their buffer locked",
            source="fs/xfs/xfs_inode.c xfs_iflush_cluster(), xfs_dquot.c "
            "xfs_qm_dqflush(): they are given the locked buffer",
            shows=names("xfs_iflush* xfs_qm_dqflush"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            _GUESS,
            lock="the AGF's buffer of XFS",
            why="it allocates or frees blocks with the group's AGF locked",
            source="fs/xfs/libxfs/xfs_alloc.c xfs_alloc_fix_freelist(): the AGF's "
            "buffer is locked until the transaction ends",
            shows=names("xfs_bmap_btalloc* xfs_alloc_* xfs_free_*extent* xfs_bmapi_*"),
            not_shows=_AGF,
            of=_AGF,
        ),
        replace(
            _GUESS,
            lock="the AGF's buffer of XFS",
            why="it changes a directory, and may have an AGF locked for its blocks",
            source="fs/xfs/xfs_inode.c xfs_remove(), xfs_rename(): the directory's "
            "blocks are changed in the transaction that then takes the AGI",
            shows=names("xfs_remove xfs_rename"),
            also=_AGI,
            of=_AGF,
        ),
        replace(
            _GUESS,
            lock="a buffer of inodes of XFS",
            why="it frees or unlinks inodes of the cluster, or writes it",
            source="fs/xfs/xfs_inode.c xfs_ifree_cluster(), xfs_iunlink(), xfs_buf.c "
            "xfs_buf_delwri_submit_buffers(): with the cluster's buffer locked",
            shows=names("xfs_ifree* xfs_iunlink* xfs_buf_delwri_submit*"),
            not_shows=_INODE_BUFFER,
            of=_INODE_BUFFER,
        ),
        replace(
            _GUESS,
            lock="a buffer of XFS under repair",
            why="it checks or repairs metadata with the group's buffers locked",
            source="fs/xfs/scrub/common.c xchk_ag_read_headers(): the buffers of a "
            "group are locked until the scrub ends",
            shows=names("xrep_* xchk_ag* xchk_inode* xchk_iallocbt*"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            _GUESS,
            lock="a buffer of XFS whose I/O ends",
            why="it ends the buffer's I/O, with the buffer locked",
            source="fs/xfs/xfs_buf.c xfs_buf_ioend(): releases the buffer at its end, "
            "xfs_buf_ioend_handle_error() runs before",
            shows=names("xfs_buf_ioend_handle_error xfs_buf_ioend_work"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            _GUESS,
            lock="a range of btrfs (EXTENT_LOCKED)",
            why="it holds a range of a file",
            source="fs/btrfs/extent-io-tree.c lock_extent(): taken by fiemap, "
            "readahead, clone and the end of ordered data, never by a commit",
            shows=BTRFS_RANGE_HOLDERS,
            not_shows=names(f"{BTRFS_RANGE_WAITING} {BTRFS_BEFORE_RANGE}"),
            of=BTRFS_RANGE_WAITS,
        ),
        replace(
            _GUESS,
            lock="a range of btrfs (EXTENT_LOCKED)",
            why="it holds a range of a file, and faults on a page under it",
            source="fs/btrfs/fiemap.c extent_fiemap() (up to 6.8) copies to user space "
            "with the range locked",
            shows=names("extent_fiemap btrfs_fiemap"),
            also=names("*_page_mkwrite handle_mm_fault __handle_mm_fault"),
            of=BTRFS_RANGE_WAITS,
            not_of=names("extent_fiemap btrfs_fiemap"),
        ),
        replace(
            _GUESS,
            lock="a part of a range of btrfs (EXTENT_LOCKED)",
            why="it holds the begin of a range and waits for the rest",
            source="fs/btrfs/extent-io-tree.c lock_extent(): keeps what it has locked "
            "while it waits for the next part",
            shows=names("btrfs_dio_iomap_begin btrfs_get_blocks_direct*"),
            also=BTRFS_RANGE_WAITS,
            of=names("btrfs_finish_ordered_io btrfs_finish_one_ordered"),
        ),
        replace(
            _GUESS,
            lock="a tree block of btrfs",
            why="it changes a tree with blocks of it locked, and waits for free space",
            source="fs/btrfs/ctree.c btrfs_force_cow_block() allocates the copy of a "
            "block with that one locked",
            shows=names("btrfs_wait_block_group_cache_*"),
            also=names("*btrfs_cow_block btrfs_force_cow_block"),
            of=_BTRFS_TREE,
        ),
        replace(
            _GUESS,
            lock="device_list_mutex of btrfs",
            why="it writes the superblocks, or adds or removes a device",
            source="fs/btrfs/disk-io.c write_all_supers(): device_list_mutex; super.c "
            "btrfs_show_devname() took it up to 5.12",
            shows=names("write_all_supers btrfs_init_new_device btrfs_rm_device"),
            caller=names("btrfs_show_devname"),
        ),
        replace(
            _GUESS,
            lock="a tree block of btrfs",
            why="it searches a tree with blocks of it locked",
            source="fs/btrfs/ctree.c btrfs_search_slot() reads a block with its parent "
            "locked",
            shows=_BTRFS_SEARCH,
            not_shows=_BTRFS_TREE,
            not_in=(c.FS_TRANSACTION,),
            of=_BTRFS_TREE,
            any_right=True,
        ),
        replace(
            _GUESS,
            lock="qgroup_ioctl_lock of btrfs",
            why="it is inside an operation on quotas",
            source="fs/btrfs/qgroup.c: all operations on quota groups hold "
            "qgroup_ioctl_lock; btrfs_quota_enable() commits under it before 5.16",
            shows=_BTRFS_QUOTA,
            past=True,
            caller=_BTRFS_QUOTA,
        ),
        replace(
            _GUESS,
            lock="dq_lock of a quota",
            why="it writes quotas",
            source="fs/quota/dquot.c dquot_acquire(), dquot_commit(): dq_lock",
            shows=_QUOTA_WORK,
            not_in=(c.FS_LOCK,),
            of=_QUOTA,
        ),
        replace(
            _GUESS,
            lock="invalidate_lock of a mapping",
            why="it removes pages of a file",
            source="include/linux/fs.h filemap_invalidate_lock(): truncation and holes "
            "keep readers out",
            shows=_INVALIDATES,
            not_in=(*_BEFORE, c.FS_LOCK),
            of=_INVALIDATE,
        ),
        replace(
            _GUESS,
            lock="a range of ZFS",
            why="it holds a range of a file",
            source="OpenZFS module/os/linux/zfs/zfs_vnops_os.c zfs_write(): "
            "zfs_rangelock_enter()",
            shows=names("zfs_write zfs_read zfs_space zfs_clone_range zfs_get_data"),
            not_in=(c.FS_LOCK,),
            of=names("zfs_rangelock_* zfs_range_lock*"),
        ),
    ),
}
