# SPDX-License-Identifier: GPL-2.0-only
"""pages: who ends waits for pages: their locks, their writeback, throttling, memory."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

FLUSHER = names(
    "writeback_sb_inodes wb_workfn wb_do_writeback wb_writeback bdi_writeback_workfn "
    "bdi_writeback_task bdi_writeback_thread bdi_start_fn background_writeout "
    "wb_kupdate pdflush __pdflush"
)
# mm/vmscan.c pageout() writes pages of any file, too.
_WRITES_ANY_FILE = names(
    "writeback_sb_inodes wb_workfn wb_writeback bdi_writeback_workfn "
    "background_writeout pageout"
)
# A page that is not up to date is locked for a read, which ends by itself; so are the
# pages of nodes and of metadata of f2fs (fs/f2fs/node.c, checkpoint.c).
_READS = names(
    "filemap_read filemap_update_page filemap_get_pages filemap_read_folio "
    "do_generic_file_read generic_file_buffered_read generic_file_aio_read "
    "do_read_cache_folio do_read_cache_page read_cache_page* "
    "*get_node_page* *get_node_folio* *get_meta_page* *get_meta_folio*"
)
# mm/memory.c do_swap_page(), often inlined: a page of swap, not of a file.
_SWAPS_IN = names("do_swap_page handle_mm_fault __handle_mm_fault handle_pte_fault")
# mm/filemap.c filemap_fault(): most pages of mappings are read, of any file system.
_FAULTS = names("filemap_fault")
# mm/page_io.c: nor does it write one of a file.
_SWAPS_OUT = "swap_writepage* __swap_writepage* swap_writeout"
# From lock to unlock of one page that is written.
_WRITES_PAGE = names(
    "writeback_iter mpage_map_and_submit_extent mpage_map_and_submit_buffers "
    "mpage_process_page_bufs mpage_process_folio mpage_submit_folio mpage_submit_page "
    "ext4_bio_write_folio ext4_bio_write_page block_write_full_* __block_write_full_* "
    "iomap_writepage_map* iomap_writeback_folio iomap_do_writepage iomap_add_to_ioend "
    "xfs_map_blocks xfs_do_writepage xfs_vm_writepage xfs_convert_page "
    "__extent_writepage* extent_writepage writepage_delalloc btrfs_run_delalloc_range "
    "cow_file_range* f2fs_write_single_data_page f2fs_do_write_data_page "
    "__write_data_page nfs_writepages_callback nfs_writepage_locked nfs_do_writepage "
    "nfs_page_async_flush pageout"
)
_PERHAPS_WRITES_PAGE = names(
    "write_cache_pages *_write_cache_pages mpage_prepare_extent_to_map *_writepages "
    "*_writepage do_writepages"
)
# mm/page-writeback.c, block/fops.c: pages of the block device, not of a file.
_OF_DEVICE = "writepage_cb blkdev_writepage blkdev_writepages"
# fs/ext4/page-io.c ext4_io_submit() below these follows the unlock of the last page.
_NOT_OF_FILE = names(f"ext4_io_submit {_OF_DEVICE} {_SWAPS_OUT}")
_LOCKS_PAGES = names(
    "prepare_pages btrfs_dirty_pages btrfs_set_extent_delalloc *_write_begin "
    "truncate_inode_pages_range truncate_inode_partial_* "
    "invalidate_inode_pages2_range migrate_pages* *_page_mkwrite fuse_perform_write"
)
# `past`: mm/readahead.c takes invalidate_lock before it adds a page.
_READS_AHEAD = names(
    "read_pages page_cache_ra_unbounded page_cache_ra_order filemap_create_folio "
    "__do_page_cache_readahead"
)
# mm/page-writeback.c: looks for dirty pages; one that is read in is none.
_WRITES_DIRTY = names(
    "writeback_iter write_cache_pages *_write_cache_pages mpage_prepare_extent_to_map"
)
_WRITES_PAGES = names(
    "extent_write_cache_pages f2fs_write_cache_pages iomap_writepages "
    "xfs_vm_writepages fuse_writepages do_garbage_collect"
)
_LOCKS_PAGE = names(
    "__folio_lock* folio_lock __lock_page* lock_page lock_delalloc_* "
    "__process_pages_contig __filemap_get_folio"
)
_LOCKS_MORE = names(
    "writepage_delalloc find_lock_delalloc_range lock_delalloc_pages "
    "lock_delalloc_folios run_delalloc_nocow cow_file_range cleanup_dirty_folios "
    "extent_clear_unlock_delalloc prepare_compress_overwrite f2fs_write_multi_pages"
)
_NOT_WITH_PAGE = (c.PAGE_LOCK, c.DIRTY_THROTTLE, c.INODE_LOCK)
_END_IOS = (
    "ext4_end_io_*work ext4_end_*_work xfs_end_io iomap_finish_ioend* "
    "finish_ordered_fn btrfs_finish_ordered_io btrfs_finish_one_ordered "
    "cifs_writev_complete cifs_writev_requeue nfs_writeback_done* rpc_async_release"
)
_END_IO = names(_END_IOS)
# fs/xfs/xfs_icache.c xfs_flush_inodes(): waits for a work that writes all inodes.
_NO_PAGE = names(f"{_END_IOS} xfs_flush_inodes")
_SUBMITS = names(
    "submit_bio submit_bio_noacct* __submit_bio* generic_make_request* submit_bh* "
    "_submit_bh direct_make_request"
)
_ALL_INODES = names(
    "wb_wait_for_completion wb_wait_completion bdi_sched_wait *writeback_inodes_sb* "
    "sync_inodes_sb"
)
# fs/fs-writeback.c wait_sb_inodes(): the flusher's work is done, pages are under way.
_WAITS_FOR_PAGE = names(
    FLUSHER.pattern.replace(r"\w*", "*").replace("|", " ")
    + " __filemap_fdatawait_range filemap_fdatawait_keep_errors"
)
_ONE_INODE = names(
    "inode_wait_for_writeback __inode_wait_for_writeback inode_sleep_on_writeback"
)
_ZFS_THROTTLE = names("dmu_tx_wait dmu_tx_delay")
# Before 3.2 balance_dirty_pages() writes pages itself (143dfe8611a6).
_NOT_THROTTLED = names(
    "dmu_tx_wait dmu_tx_delay writeback_inodes* writeback_sb_inodes "
    "generic_sync_sb_inodes writeback_single_inode"
)
_MOVES = names("unmap_and_move* migrate_folio_unmap migrate_pages_batch")
_KSWAPD = names("kswapd balance_pgdat")

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.PAGE_LOCK: (
        Holder(
            "it writes a page and holds its lock",
            "mm/page-writeback.c writeback_iter() (write_cache_pages() before 6.9) "
            "locks a page, waits for its writeback, and has it written, all under the "
            "lock; a task that waits for a page's lock sends nothing",
            _WRITES_PAGE,
            lock="PG_locked of a page",
            not_shows=names(f"{_OF_DEVICE} {_SWAPS_OUT}"),
            not_in=(*_NOT_WITH_PAGE, c.JOURNAL_TRANSACTION),
            not_of=_READS,
            not_caller=_SWAPS_IN,
            same_fs_of=_FAULTS,
        ),
        perhaps(
            "it writes a page of the block device and holds its lock",
            "fs/buffer.c __block_write_full_folio(): is given the locked page",
            names("__block_write_full_*"),
            lock="PG_locked of a page",
            also=names(_OF_DEVICE),
            not_in=_NOT_WITH_PAGE,
            of=names(_OF_DEVICE),
        ),
        perhaps(
            "it writes pages and may hold a lock of one",
            "fs/iomap/buffered-io.c iomap_writepages(): its last bio goes down with no "
            "page locked, those before it with one",
            _PERHAPS_WRITES_PAGE,
            lock="PG_locked of a page",
            not_shows=_NOT_OF_FILE,
            not_in=(*_NOT_WITH_PAGE, c.JOURNAL_TRANSACTION),
            not_of=_READS,
            not_caller=_SWAPS_IN,
            same_fs_of=_FAULTS,
        ),
        perhaps(
            "it may hold a page's lock",
            "fs/btrfs/file.c prepare_pages(), fs/buffer.c block_write_begin(), "
            "mm/truncate.c truncate_inode_pages_range(): they sleep with pages locked",
            _LOCKS_PAGES,
            lock="PG_locked of a page",
            not_in=_NOT_WITH_PAGE,
            not_of=_READS,
        ),
        perhaps(
            "it moves pages, and has those of its batch locked",
            "mm/migrate.c migrate_pages_batch() keeps folios locked while it waits for "
            "the next one (since 6.3); a page that is read in is none of them",
            names("migrate_pages_batch"),
            lock="PG_locked of a page that is moved",
            not_caller=_READS,
        ),
        perhaps(
            "it copies a huge page, with the one of the file locked",
            "mm/hugetlb.c hugetlb_wp() is called with the folio of the page cache "
            "locked and takes the mutex of the fault again",
            names("hugetlb_wp hugetlb_cow"),
            lock="PG_locked of a huge page",
            of=names("hugetlb_fault hugetlb_no_page"),
        ),
        perhaps(
            "it reads a page in, holding its lock, and waits for a buffer of it",
            "fs/buffer.c block_read_full_folio() locks the buffers of the locked page",
            names("block_read_full_folio block_read_full_page"),
            lock="PG_locked of a page",
        ),
        perhaps(
            "it reads pages in, and has them locked until that has ended",
            "mm/readahead.c page_cache_ra_unbounded() adds locked pages and then calls "
            "read_pages(); mm/filemap.c filemap_create_folio()",
            _READS_AHEAD,
            lock="PG_locked of a page",
            not_in=(c.PAGE_LOCK,),
            not_caller=_WRITES_DIRTY,
            past=True,
        ),
        perhaps(
            "it collects the pages of a cluster, and waits for one with others locked",
            "fs/f2fs/data.c f2fs_write_cache_pages() of a compressed file: "
            "f2fs_compress_ctx_add_page() keeps each page locked until the cluster is "
            "written",
            names("f2fs_write_cache_pages"),
            lock="PG_locked of a page",
            of=names("f2fs_write_multi_pages prepare_compress_overwrite"),
            not_shows=names("f2fs_write_multi_pages prepare_compress_overwrite"),
        ),
        perhaps(
            "it writes a page, and waits for others with that one locked",
            "fs/btrfs/extent_io.c writepage_delalloc() is given the locked page, and "
            "lock_delalloc_folios() takes the others of its range; fs/f2fs/compress.c "
            "prepare_compress_overwrite() those of a cluster",
            _LOCKS_MORE,
            lock="PG_locked of a page",
            not_of=_READS,
        ),
    ),
    c.PAGE_WRITEBACK: (
        Holder(
            "it writes the delayed data of an inode that is waited for",
            "fs/btrfs/inode.c start_delalloc_inodes() waits for "
            "btrfs_run_delalloc_work() of each inode",
            names("btrfs_run_delalloc_work"),
            lock="the flush of delayed allocation of btrfs",
            caller=names("start_delalloc_inodes btrfs_start_delalloc_*"),
            any_right=True,
        ),
        Holder(
            "it has ordered data written that is waited for",
            "fs/btrfs/ordered-data.c btrfs_wait_ordered_extents() queues "
            "btrfs_run_ordered_extent_work() for each and waits until these are done",
            names("btrfs_run_ordered_extent_work"),
            lock="the flush of ordered data of btrfs",
            caller=names("btrfs_wait_ordered_extents"),
            any_right=True,
        ),
        Holder(
            "its work ends the writeback",
            "fs/ext4/page-io.c ext4_end_io_end(), fs/xfs/xfs_aops.c xfs_end_io(), "
            "fs/btrfs/inode.c btrfs_finish_one_ordered(): pages stay under writeback "
            "until this work is done",
            _END_IO,
            lock="PG_writeback of a page",
            not_of=_NO_PAGE,
        ),
        Holder(
            "it writes the file system's inodes",
            "fs/fs-writeback.c sync_inodes_sb() queues work for the flusher and waits",
            FLUSHER,
            lock="a work of the flusher (sync)",
            of=_ALL_INODES,
            not_of=_WAITS_FOR_PAGE,
            any_right=True,
        ),
        perhaps(
            "it writes an inode",
            "fs/fs-writeback.c inode_wait_for_writeback(): I_SYNC is set by who writes",
            names("__writeback_single_inode writeback_single_inode"),
            lock="I_SYNC of an inode",
            caller=_ONE_INODE,
            not_called=_ONE_INODE,
        ),
        perhaps(
            "it writes pages, has not sent all yet, and waits for the lock of another",
            "fs/btrfs/extent_io.c extent_write_cache_pages() (up to 5.5), "
            "fs/iomap/buffered-io.c iomap_writepages(), fs/fuse/file.c "
            "fuse_writepages(), fs/f2fs/gc.c do_garbage_collect(): pages are collected "
            "for one bio or request, under writeback, while the next one's lock is "
            "waited for",
            _WRITES_PAGES,
            lock="PG_writeback of a page that is not sent yet",
            also=_LOCKS_PAGE,
            not_of=_WRITES_PAGES,
        ),
        perhaps(
            "it is on the way down to the disk with pages under writeback",
            "mm/page-writeback.c do_writepages(): PG_writeback is set before "
            "submit_bio(), and cleared when the bio ends; another task's fsync() is on "
            "its way with pages of its own file",
            _SUBMITS,
            lock="PG_writeback of a page",
            also=_WRITES_ANY_FILE,
            not_of=names("xfs_flush_inodes"),
            not_shows=names(f"{_OF_DEVICE} {_SWAPS_OUT}"),
        ),
    ),
    c.DIRTY_THROTTLE: (
        Holder(
            "it cleans the dirty pages",
            "mm/page-writeback.c balance_dirty_pages() waits for the flusher",
            FLUSHER,
            lock="the limit of dirty pages",
            not_of=_NOT_THROTTLED,
            any_right=True,
        ),
        Holder(
            "it writes the dirty data",
            "OpenZFS module/zfs/dsl_pool.c dsl_pool_sync(): dirty data shrinks as "
            "transaction groups are synced",
            names("txg_sync_thread"),
            lock="the limit of dirty data of ZFS",
            of=_ZFS_THROTTLE,
        ),
    ),
    c.MEMORY: (
        Holder(
            "it reclaims memory",
            "mm/vmscan.c throttle_direct_reclaim() waits for kswapd",
            _KSWAPD,
            lock="pfmemalloc_wait of a node",
            of=names("throttle_direct_reclaim"),
            stacked=True,
        ),
        perhaps(
            "the work that ends a page's writeback may be its own",
            "mm/vmscan.c shrink_folio_list() waits for a page's writeback; "
            "fs/xfs/xfs_aops.c xfs_end_io(), fs/ext4/page-io.c ext4_end_io_rsv_work(): "
            "one work ends many pages, those of a memory cgroup among them",
            _END_IO,
            lock="PG_writeback of a page that is reclaimed",
            of=_END_IO,
            caller=names("shrink_page_list shrink_folio_list"),
            itself=True,
        ),
        perhaps(
            "it reads pages in, and has them locked until that has ended",
            "mm/readahead.c page_cache_ra_unbounded(); mm/migrate.c waits for the lock "
            "of a page that it is to move",
            _READS_AHEAD,
            lock="PG_locked of a page that is moved",
            caller=_MOVES,
            past=True,
        ),
        perhaps(
            "the page may be one of those that it reads in, and has locked",
            "mm/readahead.c page_cache_ra_unbounded() has new pages locked while the "
            "file system allocates memory for their bio; mm/migrate.c unmap_and_move() "
            "waits for the lock of a page that it compacts",
            names("read_pages mpage_readpages mpage_readahead *_readpages *_readahead"),
            lock="PG_locked of a page that is moved",
            of=names("__do_page_cache_readahead page_cache_ra_unbounded read_pages"),
            caller=_MOVES,
            itself=True,
        ),
        perhaps(
            "it writes what dm-crypt has encrypted, whose pages the pool then gets",
            "drivers/md/dm-crypt.c crypt_endio() frees the pages of a write, which "
            "dmcrypt_write() submits",
            names("dmcrypt_write"),
            lock="the pages of dm-crypt's pool",
            of=names("crypt_alloc_buffer"),
            stacked=True,
        ),
        perhaps(
            "it kills for memory, or ends after that",
            "mm/memcontrol.c mem_cgroup_oom_synchronize(), mm/oom_kill.c "
            "out_of_memory(): oom_lock, and memory comes when the victim has gone",
            names("oom_kill_process mem_cgroup_out_of_memory out_of_memory exit_mmap"),
            lock="oom_lock, and the end of a victim",
            of=names("mem_cgroup_oom* out_of_memory pagefault_out_of_memory"),
            not_shows=names("mem_cgroup_oom_synchronize"),
            stacked=True,
        ),
    ),
}
