# SPDX-License-Identifier: GPL-2.0-only
"""own_io: the rules of functions that wait for an I/O which they have sent themselves.

They wait for a completion, a counter or a closure, so nothing innermost tells an I/O.
"""

from __future__ import annotations

from writestall.classify.rules.form import LOCK, Rule, names
from writestall_base import wait_classes as c

_MAPPED = names(
    "sync_io __write_dirty_buffer __make_buffer_clean do_journal_write write_journal "
    "replay_journal create_journal log_super ssd_commit_flushed"
)
_BCACHE = names(
    "do_btree_node_write mca_reap btree_gc_coalesce btree_split journal_read_bucket "
    "journal_wait_for_write read_moving uuid_read __uuid_write prio_io read_dirty "
    "run_cache_set"
)
# Of stacked devices, to what lies below them.
STACKED = (*_MAPPED, *_BCACHE)

RULES: tuple[Rule, ...] = (
    Rule(
        c.DEVICE_IO,
        names(
            "wait_dev_flush submit_read_wait_bio_list rmw_rbio scrub_rbio "
            "wait_scrub_stripe_io scrub_add_page_to_rd_bio scrub_add_page_to_wr_bio "
            "scrub_add_sector_to_rd_bio"
        ),
        "fs/btrfs/disk-io.c wait_dev_flush(), raid56.c submit_read_wait_bio_list(), "
        "rmw_rbio(), scrub_rbio(), scrub.c wait_scrub_stripe_io(), "
        "scrub_add_page_to_rd_bio() (up to 6.3): until the end of bios that they have "
        "submitted",
        not_wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.DEVICE_IO,
        ("__wait_one_discard_bio", "__wait_discard_cmd_range"),
        "fs/f2fs/segment.c __wait_one_discard_bio(): until a discard has ended",
        not_wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.JOURNAL_COMMIT_WAIT,
        ("jbd2_journal_release_jbd_inode",),
        "fs/jbd2/journal.c jbd2_journal_release_jbd_inode(): until the commit that "
        "writes the inode's data (JI_COMMIT_RUNNING) has done so",
        not_wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.RAID_OR_DM,
        _MAPPED,
        "drivers/md/dm-io.c sync_io(), dm-bufio.c __make_buffer_clean(), "
        "dm-integrity.c write_journal(), dm-log-writes.c log_super(), dm-writecache.c "
        "ssd_commit_flushed(): until their own I/O to the device below has ended",
        not_wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.RAID_OR_DM,
        _BCACHE,
        "drivers/md/bcache/btree.c, journal.c, super.c, writeback.c: closure_sync() "
        "until their own I/O to the cache or the backing device has ended",
        not_wait=(LOCK,),
        first=True,
    ),
)
