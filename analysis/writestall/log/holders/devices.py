# SPDX-License-Identifier: GPL-2.0-only
"""devices: who ends waits inside md, device-mapper, bcache, drbd and loop devices."""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import Holder, names
from writestall.log.stuck import LIKELY, POSSIBLE
from writestall_base import wait_classes as c

_MD_THREAD = names("md_thread raid1d raid10d raid5d raid5_do_work")
# md_super_wait() waits for the array's own metadata, which is on its way to the disks.
_MD_WORKS = names("md_thread md_super_wait")
_RESYNC = names("md_do_sync raid1_sync_request raid10_sync_request raid5_sync_request")
_CRYPT_WORKS = "dmcrypt_write kcryptd*"
_CRYPT_THREAD = names(_CRYPT_WORKS)
# Works and threads; a target's other functions run in whoever submits a bio.
_DM_WORKS = (
    "do_worker flush_expired_bios flush_delayed_bios* kcopyd* do_mirror "
    "writecache_flush_work writecache_writeback writecache_flush_thread "
    "integrity_writer integrity_commit integrity_metadata integrity_bio_wait "
    "integrity_recalc* process_*deferred_bios"
)
_DM_WORK = names(_DM_WORKS)
_BCACHE_THREAD = names(
    "bch_writeback_thread bch_allocator_thread bch_gc_thread bch_journal_* "
    "bch_btree_node_write* update_writeback_rate write_dirty"
)
_DRBD_THREAD = names(
    "drbd_worker drbd_receiver drbd_asender drbd_ack_receiver drbd_sender"
)
_LOOP_WORKS = (
    "loop_process_work loop_workfn loop_queue_work loop_thread loop_rootcg_workfn"
)
_LOOP_WORK = names(_LOOP_WORKS)

# A wait for the I/O of some block device; one for a server shows none of these.
_BLOCK_IO = names("io_schedule* submit_bio_wait blkdev_issue_* blk_wait_io bio_await*")
_BELOW = names(f"md_thread raid5_do_work {_CRYPT_WORKS} {_DM_WORKS} {_LOOP_WORKS}")

_LOOP = Holder(
    "it does the loop device's I/O",
    "drivers/block/loop.c loop_process_work() reads and writes the file below",
    _LOOP_WORK,
    stacked=True,
    same_disk=True,
    confidence=POSSIBLE,
)
_ARRAY = Holder(
    "it works for the array",
    "drivers/md/raid5.c raid5d(), raid1.c raid1d(): writes to the array go through it",
    _MD_THREAD,
    stacked=True,
    same_disk=True,
    confidence=POSSIBLE,
)
_BELOW_ALL = Holder(
    "it works for a device that may lie below",
    "drivers/md/md.c md_thread(), dm-crypt.c kcryptd_crypt(), dm-writecache.c, "
    "drivers/block/loop.c: an I/O to the device above waits for these; the log does "
    "not say which device it is",
    _BELOW,
    of=_BLOCK_IO,
    not_of=_BELOW,
    confidence=POSSIBLE,
    stacked=True,
    not_plain=True,
)
_OF_MODULE = Holder(
    "it is inside the module whose function takes the lock",
    "include/linux/mutex.h: a driver's lock is known to its own module alone",
    names("*"),
    confidence=POSSIBLE,
    stacked=True,
    same_module=True,
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (_OF_MODULE,),
    c.RAID_OR_DM: (
        Holder(
            "it resyncs the array and keeps writes out",
            "drivers/md/raid1.c raise_barrier(), raid10.c: a resync holds the barrier",
            _RESYNC,
            of=names("*wait_barrier regular_request_wait md_set_readonly"),
            not_of=names("md_do_sync"),
            stacked=True,
            confidence=POSSIBLE,
        ),
        Holder(
            "it starts or runs the sync that is to stop",
            "drivers/md/md.c stop_sync_thread() waits until MD_RECOVERY_RUNNING is "
            "clear, which md_start_sync() and md_do_sync() run under",
            names("md_start_sync md_do_sync"),
            of=names("stop_sync_thread idle_sync_thread frozen_sync_thread"),
            stacked=True,
            confidence=POSSIBLE,
        ),
        Holder(
            "it has requests pending that the resync waits for",
            "drivers/md/raid1.c raise_barrier(): until nothing is pending; raid1d() "
            "and raid10d() retry what failed",
            names("raid1d raid10d"),
            of=names("raise_barrier"),
            stacked=True,
            confidence=POSSIBLE,
        ),
        *(
            replace(
                _ARRAY,
                shows=names(f"{level}d {level}_do_work"),
                of=names(f"{level}_* {more}"),
                not_of=_MD_WORKS,
                same_disk=False,
                confidence=LIKELY,
            )
            for level, more in (
                ("raid1", ""),
                ("raid10", ""),
                ("raid5", "*get_active_stripe *add_stripe_bio"),
            )
        ),
        Holder(
            "it encrypts for the device and writes",
            "drivers/md/dm-crypt.c kcryptd_crypt(), dmcrypt_write()",
            _CRYPT_THREAD,
            of=names("crypt_*"),
            not_of=_CRYPT_THREAD,
            stacked=True,
        ),
        Holder(
            "it works for the mapped device",
            "drivers/md/dm-thin.c do_worker(), dm-delay.c, dm-raid1.c, dm-writecache.c",
            _DM_WORK,
            of=names("dm_* __dm_* thin_* snapshot_* writecache_* integrity_*"),
            not_of=_DM_WORK,
            stacked=True,
            confidence=POSSIBLE,
        ),
        Holder(
            "it works for the cache",
            "drivers/md/bcache/writeback.c, alloc.c, journal.c",
            _BCACHE_THREAD,
            of=names("bch_* cached_dev_*"),
            not_of=_BCACHE_THREAD,
            stacked=True,
            confidence=POSSIBLE,
        ),
        Holder(
            "it works for the replicated device",
            "drivers/block/drbd/drbd_worker.c, drbd_receiver.c",
            _DRBD_THREAD,
            of=names("drbd_* *_drbd_* al_begin_io* inc_ap_bio"),
            not_of=_DRBD_THREAD,
            stacked=True,
            confidence=POSSIBLE,
        ),
        _OF_MODULE,
    ),
    c.DEVICE_IO: (_LOOP, _ARRAY, _BELOW_ALL),
    c.BLOCK_QUEUE: (
        _LOOP,
        Holder(
            "it has frozen the queue",
            "block/blk-mq.c blk_mq_freeze_queue(): bio_queue_enter() waits until it is "
            "unfrozen",
            names(
                "blk_mq_freeze_queue* blk_freeze_queue* elevator_switch* "
                "blk_mq_update_nr_hw_queues __blk_mq_update_nr_hw_queues"
            ),
            of=names("blk_queue_enter __bio_queue_enter bio_queue_enter"),
            not_of=names("blk_mq_freeze_queue*"),
            confidence=POSSIBLE,
        ),
    ),
}
