# SPDX-License-Identifier: GPL-2.0-only
"""caches: who holds what bcache, rbd and the cache of attributes wait for."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_WRITEBACK_LOCK = (
    perhaps(
        "it writes to the cache, holding writeback_lock until the write is done",
        "drivers/md/bcache/request.c cached_dev_write() takes writeback_lock for "
        "reading, cached_dev_write_complete() releases it after bch_data_insert()",
        names("bch_data_insert_start bch_data_insert bch_btree_insert bch_alloc_*"),
        lock="the lock of bcache's writeback (writeback_lock)",
        caller=names("bch_writeback_thread"),
        any_right=True,
        stacked=True,
    ),
    perhaps(
        "it writes dirty data back, and wants or has writeback_lock",
        "drivers/md/bcache/writeback.c bch_writeback_thread(): a writer that waits for "
        "the lock keeps readers out (kernel/locking/rwsem.c)",
        names("bch_writeback_thread"),
        lock="the lock of bcache's writeback (writeback_lock)",
        caller=names("cached_dev_write update_writeback_rate"),
        stacked=True,
    ),
)
_BUCKETS = perhaps(
    "it makes buckets free",
    "drivers/md/bcache/alloc.c bch_bucket_alloc() waits until bch_allocator_thread() "
    "has put a bucket on the free list",
    names("bch_allocator_thread"),
    lock="a free bucket of bcache",
    caller=names("bch_bucket_alloc*"),
    stacked=True,
)
_NODES = (
    perhaps(
        "it changes a node of the btree, with nodes locked on its way there",
        "drivers/md/bcache/btree.c bch_btree_node_get() takes the lock of a node, "
        "which bch_btree_map_nodes_recurse() keeps until its children are done",
        names("bch_btree_insert_node btree_split bch_btree_node_rewrite"),
        lock="the lock of a btree node of bcache",
        caller=names("bch_btree_node_get mca_find"),
    ),
    perhaps(
        "it writes a node of the btree, holding write_lock",
        "drivers/md/bcache/btree.c btree_node_write_work() takes write_lock, and "
        "__bch_btree_node_write() waits for io_mutex under it",
        names("__bch_btree_node_write btree_node_write_work bch_btree_node_write_sync"),
        lock="write_lock of a btree node of bcache",
        caller=names("bch_btree_insert_node bch_btree_leaf_dirty bch_btree_set_root"),
        any_right=True,
        stacked=True,
    ),
)
_REQUESTS = (
    perhaps(
        "its request is under way, and the lock of the image waits for its end",
        "drivers/block/rbd.c rbd_quiesce_lock() waits on quiescing_wait until "
        "running_list is empty, which rbd_img_handle_request() empties",
        names("rbd_img_handle_request rbd_obj_handle_request"),
        lock="requests of an rbd image (running_list)",
        caller=names("rbd_quiesce_lock"),
        any_right=True,
        stacked=True,
    ),
    perhaps(
        "it holds the image's lock and waits for requests or the server",
        "drivers/block/rbd.c rbd_reregister_watch(), rbd_release_lock(): lock_rwsem "
        "for writing",
        names("rbd_quiesce_lock __rbd_register_watch rbd_lock __rbd_lock"),
        lock="the lock of an rbd image (lock_rwsem)",
        caller=names("rbd_img_handle_request rbd_watch_errcb rbd_queue_workfn"),
        stacked=True,
    ),
)
_ATTRIBUTE = perhaps(
    "it uses an entry of the cache of extended attributes",
    "fs/mbcache.c mb_cache_entry_wait_unused(); fs/ext4/xattr.c "
    "ext4_xattr_inode_cache_find() holds the entry while it reads the inode",
    names("ext4_xattr_inode_cache_find ext4_xattr_block_cache_find"),
    lock="users of an entry of mbcache (e_refcnt)",
    caller=names("mb_cache_entry_wait_unused"),
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (*_WRITEBACK_LOCK, *_NODES, *_REQUESTS, _ATTRIBUTE),
    c.FS_LOCK: _REQUESTS,
    c.DEVICE_IO: _REQUESTS,
    c.RAID_OR_DM: (*_WRITEBACK_LOCK, *_NODES, _BUCKETS),
}
