# SPDX-License-Identifier: GPL-2.0-only
"""caches: who holds what bcache and the cache of extended attributes wait for."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names
from writestall.log.stuck import POSSIBLE
from writestall_base import wait_classes as c

_WRITEBACK_LOCK = (
    Holder(
        "it writes to the cache, holding writeback_lock until the write is done",
        "drivers/md/bcache/request.c cached_dev_write() takes writeback_lock for "
        "reading, cached_dev_write_complete() releases it after bch_data_insert()",
        names("bch_data_insert_start bch_data_insert bch_btree_insert bch_alloc_*"),
        lock="writeback_lock of bcache",
        caller=names("bch_writeback_thread"),
        confidence=POSSIBLE,
        any_right=True,
        stacked=True,
    ),
    Holder(
        "it writes dirty data back, and wants or has writeback_lock",
        "drivers/md/bcache/writeback.c bch_writeback_thread(): a writer that waits for "
        "the lock keeps readers out (kernel/locking/rwsem.c)",
        names("bch_writeback_thread"),
        lock="writeback_lock of bcache",
        caller=names("cached_dev_write update_writeback_rate"),
        confidence=POSSIBLE,
        stacked=True,
    ),
)
_BUCKETS = Holder(
    "it makes buckets free",
    "drivers/md/bcache/alloc.c bch_bucket_alloc() waits until bch_allocator_thread() "
    "has put a bucket on the free list",
    names("bch_allocator_thread"),
    lock="a free bucket of bcache",
    caller=names("bch_bucket_alloc*"),
    confidence=POSSIBLE,
    stacked=True,
)
_ATTRIBUTE = Holder(
    "it uses an entry of the cache of extended attributes",
    "fs/mbcache.c mb_cache_entry_wait_unused(); fs/ext4/xattr.c "
    "ext4_xattr_inode_cache_find() holds the entry while it reads the inode",
    names("ext4_xattr_inode_cache_find ext4_xattr_block_cache_find"),
    lock="e_refcnt of an entry of mbcache",
    caller=names("mb_cache_entry_wait_unused"),
    confidence=POSSIBLE,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (*_WRITEBACK_LOCK, _ATTRIBUTE),
    c.RAID_OR_DM: (*_WRITEBACK_LOCK, _BUCKETS),
}
