# SPDX-License-Identifier: GPL-2.0-only
"""file_systems: who can hold locks of ext4, of quotas, of mappings and of ZFS."""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import BEFORE, GUESS, Holder, names, of_row
from writestall_base import wait_classes as c

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
_QUOTA = names("dqget dquot_acquire dquot_commit dquot_release wait_on_dquot dqput")
_QUOTA_WORK = names(
    "dquot_acquire dquot_commit dquot_release ext4_*_dquot qtree_* v2_*_dquot "
    "do_insert_tree"
)
_INVALIDATE = names(
    "filemap_invalidate_lock* page_cache_ra_* do_page_cache_ra force_page_cache_ra "
    "filemap_create_folio filemap_fault"
)
_INVALIDATES = names(
    "ext4_punch_hole ext4_zero_range ext4_collapse_range ext4_insert_range "
    "ext4_setattr ext4_truncate xfs_file_fallocate xfs_vn_setattr* xfs_setattr_size "
    "f2fs_fallocate f2fs_setattr fuse_file_fallocate btrfs_punch_hole"
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.FS_LOCK: (
        replace(
            GUESS,
            lock="the lock of an ext4 file's block map (i_data_sem)",
            why="it changes a file's block map",
            source="fs/ext4/inode.c ext4_map_blocks(), ext4_truncate(): i_data_sem",
            shows=_WITH_I_DATA_SEM,
            not_in=(*BEFORE, c.FS_LOCK, c.JOURNAL_TRANSACTION),
            caller=_I_DATA_SEM,
        ),
        replace(
            GUESS,
            lock="the lock of ext4's writeback (s_writepages_rwsem)",
            why="it writes pages, which a change of how files are written waits for",
            source="fs/ext4/inode.c ext4_writepages() holds s_writepages_rwsem for "
            "reading, ext4_change_inode_journal_flag() takes it to write",
            shows=names("ext4_writepages"),
            caller=names("ext4_change_inode_journal_flag ext4_*_migrate"),
            any_right=True,
        ),
        replace(
            GUESS,
            lock="the lock of ext4's list of orphans (s_orphan_lock)",
            why="it changes the list of orphans",
            source="fs/ext4/orphan.c ext4_orphan_del() holds s_orphan_lock while it "
            "gets access to a buffer",
            shows=names("ext4_orphan_del ext3_orphan_del"),
            not_in=(c.FS_LOCK,),
            caller=names("ext*_orphan_add ext*_orphan_del"),
        ),
        of_row(
            "the inode of ocfs2's allocator of inodes",
            "ocfs2_reserve_suballoc_bits ocfs2_remove_inode",
            "ocfs2_mknod ocfs2_symlink ocfs2_create_inode_in_orphan",
            "it has reserved an inode, with the allocator's inode locked",
            "fs/ocfs2/suballoc.c ocfs2_reserve_suballoc_bits(): inode_lock() of a "
            "system file, until ocfs2_free_alloc_context()",
        ),
        of_row(
            "the inode of ocfs2's local allocator",
            "ocfs2_reserve_local_alloc_bits",
            "ocfs2_extend_allocation ocfs2_mknod ocfs2_symlink",
            "it has reserved clusters, with the allocator's inode locked",
            "fs/ocfs2/localalloc.c ocfs2_reserve_local_alloc_bits(): inode_lock() of a "
            "system file, until ocfs2_free_alloc_context()",
        ),
        of_row(
            "the inode of ocfs2's truncate log",
            "ocfs2_flush_truncate_log",
            "__ocfs2_flush_truncate_log",
            "it flushes the truncate log, with its inode locked",
            "fs/ocfs2/alloc.c ocfs2_truncate_log_worker(): inode_lock() around "
            "__ocfs2_flush_truncate_log()",
        ),
        replace(
            GUESS,
            lock="dq_lock of a quota",
            why="it writes quotas",
            source="fs/quota/dquot.c dquot_acquire(), dquot_commit(): dq_lock",
            shows=_QUOTA_WORK,
            not_in=(c.FS_LOCK,),
            of=_QUOTA,
        ),
        replace(
            GUESS,
            lock="invalidate_lock of a mapping",
            why="it removes pages of a file",
            source="include/linux/fs.h filemap_invalidate_lock(): truncation and holes "
            "keep readers out",
            shows=_INVALIDATES,
            not_in=(*BEFORE, c.FS_LOCK),
            of=_INVALIDATE,
        ),
        replace(
            GUESS,
            lock="the lock of a tree of HFS (tree_lock)",
            why="it makes room in the tree, with its lock held",
            source="fs/hfs/btree.c hfs_bmap_reserve(), called below hfs_find_init(), "
            "extends the tree's file, whose extents may be in that tree; so hfsplus",
            shows=names("hfs_bmap_reserve hfsplus_bmap_reserve"),
            caller=names("hfs_find_init hfsplus_find_init"),
            itself=True,
        ),
        replace(
            GUESS,
            lock="the lock of a UBIFS inode (ui_mutex)",
            why="it makes room for a change, which inodes are written for",
            source="fs/ubifs/dir.c do_rename() with RENAME_WHITEOUT: called "
            "ubifs_budget_space() after lock_4_inodes(), as its comment now says",
            shows=names("ubifs_budget_space"),
            also=names("do_rename ubifs_rename"),
            caller=names("ubifs_write_inode"),
        ),
        replace(
            GUESS,
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
