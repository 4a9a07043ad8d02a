# SPDX-License-Identifier: GPL-2.0-only
"""pages: rules for waits of mm/: memory, throttling, page locks, writeback."""

from __future__ import annotations

from writestall.classify import named_waits as w
from writestall.classify.rules.form import (
    IO,
    LOCK,
    PAGE,
    READS,
    WRITEBACK_WAITS,
    Rule,
    names,
)
from writestall_base import wait_classes as c

# A wait anywhere inside these has one meaning, whatever the inner frames are.
OVERRIDES: tuple[Rule, ...] = (
    Rule(
        c.MEMORY,
        ("throttle_vm_writeout",),
        "mm/page-writeback.c throttle_vm_writeout() (until 6.14): who reclaims pauses "
        "while more pages are under writeback than may be dirty",
        named=w.WRITEBACK_LIMIT,
    ),
    Rule(
        c.MEMORY,
        names(
            "try_to_free_pages do_try_to_free_pages __alloc_pages_direct_reclaim "
            "__perform_reclaim try_to_free_mem_cgroup_pages "
            "*mem_cgroup_handle_over_high mem_cgroup_reclaim "
            "mem_cgroup_hierarchical_reclaim node_reclaim __node_reclaim zone_reclaim "
            "balance_pgdat try_to_compact_pages compact_zone* kcompactd* "
            "alloc_contig_* __alloc_contig_* cma_alloc reclaim_pages shrink_all_memory"
        ),
        "mm/vmscan.c, mm/memcontrol.c, mm/compaction.c: a task that could not get "
        "memory reclaims it; what it waits for in there is somebody else's page",
    ),
    Rule(
        c.MEMORY,
        names(
            "kswapd shrink_zone* shrink_node* shrink_lruvec shrink_list "
            "shrink_inactive_list shrink_page_list shrink_folio_list"
        ),
        "mm/vmscan.c: the same where balance_pgdat() is inlined or a log was cut off "
        "before it. Not shrink_slab(), which echo 2 >drop_caches calls too",
    ),
)

# mm/backing-dev.c: a pause until a disk's queue is no longer congested, until 5.16.
_CONGESTED = ("congestion_wait*", "blk_congestion_wait*")
# Who reads a page, and then waits until it is unlocked.
_READS_ONE = ("do_read_cache_*", "read_cache_*", "wait_on_page_read", "gfs2_find_jhead")
RULES: tuple[Rule, ...] = (
    Rule(
        c.DIRTY_THROTTLE,
        ("balance_dirty_pages", "balance_dirty_pages_ratelimited*"),
        "mm/page-writeback.c balance_dirty_pages(): pauses a task that dirties pages; "
        "before 3.2 (commit 143dfe8611a6) it writes back itself meanwhile",
    ),
    Rule(
        c.MEMORY,
        ("mempool_alloc*",),
        "mm/mempool.c mempool_alloc(): the reserve is in use, by bios and pages under "
        "way; an element is freed when its I/O ends",
        named=w.OF_A_POOL,
    ),
    Rule(
        c.FS_TRANSACTION,
        ("congestion_wait*", "f2fs_io_schedule_timeout", "f2fs_write_raw_pages"),
        "fs/f2fs/compress.c f2fs_write_raw_pages(), data.c, segment.c: a pause before "
        "f2fs_trylock_op() or the page is tried again (congestion_wait() until 5.16)",
        callers=("f2fs_*",),
        named=w.CHECKPOINT_RETRY,
    ),
    Rule(
        c.DIRTY_THROTTLE,
        _CONGESTED,
        "mm/page-writeback.c balance_dirty_pages() (until 2.6.36): the same, where the "
        "pause is inlined further in",
        callers=("balance_dirty_pages*",),
    ),
    Rule(
        c.BLOCK_QUEUE,
        _CONGESTED,
        "mm/page-writeback.c background_writeout(), wb_kupdate() (until 2.6.31): the "
        "flusher pauses until the disk's queue has room again",
        callers=("background_writeout", "wb_kupdate"),
    ),
    Rule(
        c.MEMORY,
        names(
            "reclaim_throttle throttle_direct_reclaim wait_iff_congested "
            "congestion_wait* too_many_isolated "
            "__alloc_pages_slowpath mempool_alloc* mem_cgroup_oom* out_of_memory "
            "pagefault_out_of_memory"
        ),
        "mm/vmscan.c reclaim_throttle() (since 5.16), mm/backing-dev.c "
        "congestion_wait() before it, mm/mempool.c: the allocator waits for memory",
    ),
    Rule(
        c.MEMORY,
        ("lru_add_drain_all", "__lru_add_drain_all", "drain_all_pages"),
        "mm/swap.c __lru_add_drain_all(): until a work has run on each CPU",
        named=w.EACH_CPU,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        (*WRITEBACK_WAITS, "wait_on_page_writeback_range"),
        "mm/page-writeback.c folio_wait_writeback() sleeps until PG_writeback clears; "
        "folio_wait_stable() is the same wait where the device needs stable pages; "
        "mm/filemap.c __filemap_fdatawait_range() waits for nothing else",
        wait=(PAGE, IO),
        bare=True,
    ),
    Rule(
        c.FS_LOCK,
        ("sync_inodes_sb", "wait_sb_inodes"),
        "fs/fs-writeback.c: wb_switch_rwsem and s_sync_lock, which keep one sync of a "
        "file system waiting for another",
        wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        ("inode_wait_for_writeback", "__inode_wait_for_writeback"),
        "fs/fs-writeback.c writeback_single_inode() waits before it sets I_SYNC",
        by=("writeback_single_inode",),
        named=w.INODE_WRITTEN,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        ("inode_wait_for_writeback", "__inode_wait_for_writeback"),
        "fs/fs-writeback.c inode_wait_for_writeback() below evict(), called by what "
        "__writeback_single_inode() calls while it has I_SYNC of an inode",
        callers=("__writeback_single_inode", "writeback_single_inode"),
        named=w.ITSELF,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        names(
            "*_wait_on_page_writeback* *_wait_on_folio_writeback* "
            "f2fs_folio_wait_writeback f2fs_wait_on_*_writeback* fuse_set_nowrite "
            "fuse_sync_writes ext4_ioend_wait ext4_unwritten_wait "
            "ext4_flush_unwritten_io ext4_flush_completed_IO"
        ),
        "fs/f2fs/segment.c, fs/fuse/file.c, fs/ext4/page-io.c have waits of their own "
        "for a page; mm/filemap.c folio_wait_private_2(): a page on its way to the "
        "cache",
    ),
    Rule(
        c.PAGE_WRITEBACK,
        names(
            "wb_wait_for_completion wb_wait_completion bdi_sched_wait "
            "bdi_wait_on_work_* bdi_sync_writeback sync_inodes_sb "
            "__writeback_inodes_sb_nr writeback_inodes_sb*"
        ),
        "fs/fs-writeback.c sync_inodes_sb() waits until the flusher has written",
        named=w.BY_FLUSHER,
    ),
    Rule(
        c.PAGE_WRITEBACK,
        names(
            "inode_sleep_on_writeback inode_wait_for_writeback "
            "__inode_wait_for_writeback"
        ),
        "fs/fs-writeback.c inode_wait_for_writeback(): until I_SYNC clears",
        named=w.INODE_WRITTEN,
    ),
    Rule(
        c.PAGE_LOCK,
        names(
            "__lock_page* __folio_lock* lock_page* folio_lock* "
            "put_and_wait_on_page_locked migration_entry_wait* softleaf_entry_wait_*"
        ),
        "mm/filemap.c __folio_lock() (since 5.16; __lock_page() before) sleeps until "
        "PG_locked clears; migration_entry_wait() until the page has moved",
    ),
    Rule(
        c.DEVICE_IO,
        (
            *("wait_on_page_locked*", "folio_wait_locked*"),
            *("folio_put_wait_locked", "put_and_wait_on_page_locked"),
        ),
        "mm/filemap.c do_read_cache_page(): a page of its own or another's read, "
        "inlined from include/linux/pagemap.h",
        callers=_READS_ONE,
    ),
    Rule(
        c.DEVICE_IO,
        ("folio_wait_bit*", "wait_on_page_bit*"),
        "mm/filemap.c filemap_read_folio(): until the read that it has begun is over",
        by=("filemap_read_folio", "filemap_read_page", *_READS_ONE),
    ),
    Rule(
        c.PAGE_WRITEBACK,
        ("wait_on_page_bit",),
        "mm/filemap.c before 5.16: locking a page goes through __lock_page(), so a "
        "plain wait_on_page_bit() is wait_on_page_writeback(), inlined from "
        "include/linux/pagemap.h, unless a reader waits for PG_locked",
        not_callers=READS,
    ),
    Rule(
        c.PAGE_LOCK,
        ("folio_wait_bit*", "wait_on_page_bit*", "folio_put_wait_locked"),
        "mm/filemap.c: __folio_lock() tail-calls folio_wait_bit_common() "
        "(__lock_page() wait_on_page_bit_common() from 4.14 on): without a wait for "
        "writeback further out it is the lock",
        not_callers=(
            *WRITEBACK_WAITS,
            "wait_on_page_bit",
            "read_extent_buffer_pages*",
            *_READS_ONE,
        ),
    ),
    Rule(
        c.PAGE_LOCK,
        ("find_lock_page*", "pagecache_get_page", "__filemap_get_folio"),
        "mm/filemap.c find_lock_page(): 2.6.32's sync_page has __lock_page() inlined",
        wait=(PAGE,),
    ),
    Rule(
        c.PAGE_LOCK,
        ("__filemap_get_folio*",),
        "mm/filemap.c __filemap_get_folio_mpol() (in 7.0): folio_lock() down to "
        "io_schedule() may be inlined; its other wait, folio_wait_stable(), is a "
        "function of mm/page-writeback.c",
        wait=(IO,),
        first=True,
    ),
    Rule(
        c.FS_LOCK,
        names(
            "filemap_invalidate_lock* page_cache_ra_* do_page_cache_ra "
            "force_page_cache_ra filemap_create_folio filemap_fault"
        ),
        "include/linux/fs.h: mapping->invalidate_lock (since 5.15, "
        "commit 730633f0b7f9), which whoever reads pages in takes",
        wait=(LOCK,),
        first=True,
        bare=True,
    ),
)
