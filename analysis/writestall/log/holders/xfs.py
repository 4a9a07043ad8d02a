# SPDX-License-Identifier: GPL-2.0-only
"""xfs: who can hold the locks and the locked buffers of XFS."""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import BEFORE, GUESS, Holder, names
from writestall_base import wait_classes as c

# xfs_ilock() may be a tail call, and has then no frame.
_ILOCK = names(
    "xfs_ilock* xfs_lock_inodes xfs_lock_two_inodes xfs_map_blocks xfs_iomap_* "
    "xfs_*_iomap_begin xfs_bmap* xfs_getbmap xfs_attr_get xfs_readdir xfs_lookup "
    "xfs_readlink xfs_trans_alloc_inode xfs_trans_alloc_ichange xfs_trans_alloc_dir"
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
    "xfs_attr_set* xfs_alloc_* xfs_free_extent* xfs_ioc_swapext xfs_swap_extents"
)

# fs/xfs/libxfs/xfs_da_btree.c: blocks of directories and attributes.
_NAME_BLOCKS = "xfs_da_* xfs_da3_* xfs_dir_* xfs_dir2_* xfs_dir3_* xfs_attr*_*"
_NAMES = names(_NAME_BLOCKS)
_READS = replace(
    GUESS,
    lock="a buffer of XFS that is read or written",
    why="it reads or writes a buffer with that one locked",
    source="fs/xfs/xfs_buf.c xfs_buf_read_map(), xfs_bwrite(): the buffer is locked "
    "until its I/O has ended; a block of a directory is no other metadata",
    shows=names("xfs_buf_iowait"),
    not_shows=names("xfs_buf_lock"),
    of=_BUFFER_LOCK,
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (
        replace(
            GUESS,
            lock="an XFS inode that is being freed",
            why="it frees an inode, for the end of which others look again",
            source="fs/xfs/xfs_icache.c xfs_iget() repeats while the inode is "
            "I_FREEING, XFS_IRECLAIM or XFS_INACTIVATING",
            shows=names("xfs_inactive xfs_inodegc_worker xfs_reclaim_inode*"),
            caller=names("xfs_iget"),
        ),
        replace(
            GUESS,
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
            GUESS,
            lock="the ILOCK of an XFS inode",
            why="it changes an inode in a transaction",
            source="fs/xfs/xfs_trans_inode.c xfs_trans_ijoin(): the ILOCK is held "
            "until the transaction ends",
            shows=_XFS_CHANGES,
            not_shows=names("xfs_ilock* xfs_trans_alloc*"),
            not_in=BEFORE,
            caller=_ILOCK,
        ),
        replace(
            GUESS,
            lock="the ILOCK of an XFS inode",
            why="it forces the log for the file, holding its ILOCK",
            source="fs/xfs/xfs_file.c xfs_fsync_flush_log() (xfs_file_fsync() before "
            "5.10): the ILOCK is held for reading while the log is forced",
            shows=names("xfs_log_force_seq xfs_log_force_lsn _xfs_log_force_lsn"),
            also=names("xfs_file_fsync"),
            of=names("*down_write*"),
            caller=_ILOCK,
        ),
        replace(
            GUESS,
            lock="the IOLOCK of an XFS inode",
            why="it reads or writes the file with its IOLOCK held",
            source="fs/xfs/xfs_file.c (fs/xfs/linux-2.6/ before 3.1) xfs_file_aio_write"
            "(), xfs_file_splice_write(): XFS_IOLOCK for the whole call; its own lock "
            "until 4.9, i_rwsem since",
            shows=names("xfs_file_splice_write xfs_file_splice_read xfs_file_*aio_*"),
            not_shows=names("xfs_ilock* xfs_rw_ilock*"),
            of=names("xfs_setattr* xfs_vn_setattr* xfs_rw_ilock* xfs_file_*"),
            caller=_ILOCK,
        ),
        replace(
            GUESS,
            lock="the ILOCK of an XFS inode",
            why="it reads the map of a file's blocks in",
            source="fs/xfs/xfs_inode.c xfs_ilock_data_map_shared(): the ILOCK is "
            "exclusive until xfs_iread_extents() has read the map",
            shows=names("xfs_iread_extents"),
            not_shows=names("xfs_ilock*"),
            caller=_ILOCK,
        ),
        replace(
            GUESS,
            lock="the AGI's buffer of XFS",
            why="it allocates an inode with the group's AGI locked",
            source="fs/xfs/libxfs/xfs_ialloc.c xfs_dialloc(): the AGI's buffer is "
            "locked before the AGF's, and both until the transaction ends",
            shows=names("xfs_ialloc_ag_alloc xfs_dialloc* xfs_difree* xfs_inobt_*"),
            not_shows=_AGI,
            of=_AGI,
        ),
        replace(
            GUESS,
            lock="a buffer of XFS (AGF, AGI, a btree block)",
            why="it has the buffers of its transaction locked",
            source="fs/xfs/xfs_trans_buf.c xfs_trans_read_buf_map(): a transaction "
            "keeps its buffers locked until it ends",
            shows=_XFS_CHANGES,
            not_shows=names("xfs_buf_lock xfs_ilock* xfs_trans_alloc*"),
            not_in=(*BEFORE, c.FS_LOCK),
            of=_BUFFER_LOCK,
        ),
        replace(_READS, also=_NAMES, of=_NAMES, caller=_BUFFER_LOCK),
        replace(
            _READS,
            not_shows=names(f"xfs_buf_lock {_NAME_BLOCKS}"),
            not_of=_NAMES,
        ),
        replace(
            GUESS,
            lock="a buffer of XFS (inodes, quotas)",
            why="it writes an inode or quota with their buffer locked",
            source="fs/xfs/xfs_inode.c xfs_iflush_cluster(), xfs_dquot.c "
            "xfs_qm_dqflush(): they are given the locked buffer",
            shows=names("xfs_iflush* xfs_qm_dqflush"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            GUESS,
            lock="the AGF's buffer of XFS",
            why="it allocates or frees blocks with the group's AGF locked",
            source="fs/xfs/libxfs/xfs_alloc.c xfs_alloc_fix_freelist(): the AGF's "
            "buffer is locked until the transaction ends",
            shows=names("xfs_bmap_btalloc* xfs_alloc_* xfs_free_*extent* xfs_bmapi_*"),
            not_shows=_AGF,
            of=_AGF,
        ),
        replace(
            GUESS,
            lock="the AGF's buffer of XFS",
            why="it may have an AGF locked, and takes an AGI after it",
            source="fs/xfs/xfs_inode.c xfs_remove() of a directory, xfs_rename(): "
            "blocks are changed in the transaction that then takes the AGI; of a file "
            "xfs_droplink() comes first; "
            "libxfs/xfs_ag.c xfs_ag_shrink_space(): the AGF is locked while "
            "xfs_ag_resv_init() reads the AGI again",
            shows=names("xfs_remove xfs_rename xfs_ag_shrink_space"),
            not_shows=names("vfs_unlink"),
            also=_AGI,
            of=_AGF,
        ),
        replace(
            GUESS,
            lock="a buffer of inodes of XFS",
            why="it frees or unlinks inodes of the cluster",
            source="fs/xfs/xfs_inode.c xfs_ifree_cluster(), xfs_iunlink(): with the "
            "cluster's buffer locked, which comes after the AGI",
            shows=names("xfs_ifree* xfs_iunlink*"),
            not_shows=names("xfs_imap_to_bp xfs_read_agi xfs_ialloc_read_agi"),
            of=_INODE_BUFFER,
        ),
        replace(
            GUESS,
            lock="a buffer of XFS that is written",
            why="it writes buffers, which are locked until that has ended",
            source="fs/xfs/xfs_buf.c xfs_buf_delwri_submit_buffers() locks buffers and "
            "sends them; xfs_buf_ioend() releases them",
            shows=names("xfs_buf_delwri_submit*"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            GUESS,
            lock="a buffer of XFS under repair",
            why="it checks or repairs metadata with the group's buffers locked",
            source="fs/xfs/scrub/common.c xchk_ag_read_headers(): the buffers of a "
            "group are locked until the scrub ends",
            shows=names("xrep_* xchk_ag* xchk_inode* xchk_iallocbt*"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            GUESS,
            lock="a buffer of XFS whose I/O ends",
            why="it ends the buffer's I/O, with the buffer locked",
            source="fs/xfs/xfs_buf.c xfs_buf_ioend(): releases the buffer at its end, "
            "xfs_buf_ioend_handle_error() runs before",
            shows=names("xfs_buf_ioend_handle_error xfs_buf_ioend_work"),
            not_shows=names("xfs_buf_lock"),
            of=_BUFFER_LOCK,
        ),
        replace(
            GUESS,
            lock="the AGI's buffer of XFS",
            why="it may have the AGI of another group locked",
            source="fs/xfs/xfs_inode.c xfs_rename() over a file with a whiteout: one "
            "leaves the list of unlinked inodes and one joins it, in groups of any "
            "order before 6da1b4b1ab36, 'xfs: fix an ABBA deadlock in xfs_rename'",
            shows=names("xfs_rename"),
            also=_AGI,
            of=_AGI,
            each_other=True,
        ),
    ),
}
