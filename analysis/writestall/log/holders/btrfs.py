# SPDX-License-Identifier: GPL-2.0-only
"""btrfs: who can hold ranges, tree blocks and mutexes of btrfs."""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import GUESS, Holder, names
from writestall.log.holders.transactions import (
    BTRFS_BEFORE_RANGE,
    BTRFS_RANGE_HOLDERS,
    BTRFS_RANGE_WAITING,
    BTRFS_RANGE_WAITS,
)
from writestall_base import wait_classes as c

_BTRFS_TREE = names(
    "btrfs_tree_lock* btrfs_tree_read_lock* __btrfs_tree_*lock* btrfs_lock_root_node "
    "btrfs_read_lock_root_node btrfs_try_tree_*lock*"
)
_BTRFS_SEARCH = names(
    "btrfs_search_* btrfs_next_* read_block_for_search btrfs_read_node_slot "
    "btrfs_cow_block __btrfs_cow_block btrfs_force_cow_block push_leaf_* balance_level"
)
_BTRFS_CHANGES = names(
    "btrfs_cow_block __btrfs_cow_block btrfs_force_cow_block update_ref_for_cow "
    "split_node split_leaf insert_new_root btrfs_alloc_tree_block"
)
_BTRFS_QUOTA = names(
    "btrfs_quota_enable btrfs_quota_disable btrfs_*_qgroup btrfs_*_qgroup_relation "
    "btrfs_qgroup_inherit"
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.FS_LOCK: (
        replace(
            GUESS,
            lock="a range of btrfs (EXTENT_LOCKED)",
            why="it holds a range of a file",
            source="fs/btrfs/extent-io-tree.c lock_extent(): taken by fiemap, "
            "readahead, clone and the end of ordered data, never by a commit",
            shows=BTRFS_RANGE_HOLDERS,
            not_shows=names(f"{BTRFS_RANGE_WAITING} {BTRFS_BEFORE_RANGE}"),
            of=BTRFS_RANGE_WAITS,
        ),
        replace(
            GUESS,
            lock="a range of btrfs (EXTENT_LOCKED)",
            why="it holds a range of a file, and faults on a page under it",
            source="fs/btrfs/fiemap.c extent_fiemap() (up to 6.8) copies to user space "
            "with the range locked",
            shows=names("extent_fiemap btrfs_fiemap"),
            also=names("*_page_mkwrite handle_mm_fault __handle_mm_fault"),
            of=BTRFS_RANGE_WAITS,
            itself=True,
        ),
        replace(
            GUESS,
            lock="a block of a btrfs tree",
            why="it looks for a block's owners while it copies one, with blocks locked",
            source="fs/btrfs/backref.c find_parent_nodes() below "
            "btrfs_qgroup_trace_extent_post() took locks that btrfs_cow_block() holds "
            "(until 38e3eebff643)",
            shows=names("btrfs_qgroup_trace_extent_post"),
            also=names("btrfs_cow_block __btrfs_cow_block"),
            of=names("find_parent_nodes"),
            caller=_BTRFS_TREE,
            itself=True,
        ),
        replace(
            GUESS,
            lock="a block of a btrfs tree",
            why="it allocates a chunk while it copies a block, with blocks locked",
            source="fs/btrfs/extent-tree.c do_chunk_alloc() called "
            "btrfs_create_pending_block_groups() below btrfs_cow_block(), in 4.2 and "
            "4.3: it changes the trees of chunks and extents",
            shows=names("do_chunk_alloc"),
            also=names("btrfs_cow_block __btrfs_cow_block"),
            of=names("btrfs_create_pending_block_groups"),
            caller=_BTRFS_TREE,
            itself=True,
        ),
        replace(
            GUESS,
            lock="a part of a range of btrfs (EXTENT_LOCKED)",
            why="it holds the begin of a range and waits for the rest",
            source="fs/btrfs/extent-io-tree.c lock_extent(): keeps what it has locked "
            "while it waits for the next part",
            shows=names("btrfs_dio_iomap_begin btrfs_get_blocks_direct*"),
            also=BTRFS_RANGE_WAITS,
            of=names("btrfs_finish_ordered_io btrfs_finish_one_ordered"),
        ),
        replace(
            GUESS,
            lock="a tree block of btrfs",
            why="it changes a tree with blocks of it locked, and needs free space",
            source="fs/btrfs/ctree.c btrfs_force_cow_block() allocates the copy of a "
            "block with that one locked; extent-tree.c find_free_extent() waits in "
            "btrfs_chunk_alloc()",
            shows=names("btrfs_wait_block_group_cache_* btrfs_chunk_alloc"),
            also=names("*btrfs_cow_block btrfs_force_cow_block"),
            of=_BTRFS_TREE,
        ),
        replace(
            GUESS,
            lock="a tree block of btrfs",
            why="it changes a tree with blocks of it locked, and waits for another "
            "tree",
            source="fs/btrfs/ctree.c btrfs_force_cow_block(), split_node(): "
            "update_ref_for_cow() and btrfs_alloc_tree_block() search the tree of "
            "extents with the block locked",
            shows=_BTRFS_CHANGES,
            also=_BTRFS_TREE,
            of=_BTRFS_TREE,
            not_of=_BTRFS_CHANGES,
        ),
        replace(
            GUESS,
            lock="a tree block of btrfs",
            why="it copies a file's items to the log, with their block locked",
            source="fs/btrfs/tree-log.c copy_inode_items_to_log(), "
            "btrfs_log_changed_extents() (btrfs_log_prealloc_extents() inside it): "
            "they search the subvolume and insert into the log with the path kept",
            shows=names(
                "btrfs_log_changed_extents btrfs_log_prealloc_extents copy_items "
                "copy_inode_items_to_log btrfs_log_all_xattrs"
            ),
            not_shows=_BTRFS_TREE,
            of=_BTRFS_TREE,
        ),
        replace(
            GUESS,
            lock="the list of a btrfs's devices (device_list_mutex)",
            why="it writes the superblocks, or adds or removes a device",
            source="fs/btrfs/disk-io.c write_all_supers(): device_list_mutex; super.c "
            "btrfs_show_devname() took it up to 5.12",
            shows=names("write_all_supers btrfs_init_new_device btrfs_rm_device"),
            caller=names("btrfs_show_devname"),
        ),
        replace(
            GUESS,
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
            GUESS,
            lock="the lock of btrfs quotas (qgroup_ioctl_lock)",
            why="it is inside an operation on quotas",
            source="fs/btrfs/qgroup.c: all operations on quota groups hold "
            "qgroup_ioctl_lock; btrfs_quota_enable() commits under it before 5.16",
            shows=_BTRFS_QUOTA,
            past=True,
            caller=_BTRFS_QUOTA,
        ),
    ),
}
