# SPDX-License-Identifier: GPL-2.0-only
"""devices: who ends waits inside md, device-mapper, bcache, drbd and loop devices."""

from __future__ import annotations

from dataclasses import replace

from writestall.classify.rules import own_io
from writestall.log.holders.form import Holder, names, perhaps
from writestall.log.holders.queues import ENTERS
from writestall.log.stuck import LIKELY
from writestall_base import wait_classes as c

_MD_THREAD = names("md_thread raid1d raid10d raid5d raid5_do_work")
_RESYNC = names("md_do_sync raid1_sync_request raid10_sync_request raid5_sync_request")
_CRYPT_WORKS = "dmcrypt_write kcryptd*"
_CRYPT_THREAD = names(_CRYPT_WORKS)
# Works and threads; a target's other functions run in whoever submits a bio.
_DM_WORKS = (
    "do_worker flush_expired_bios flush_delayed_bios* kcopyd* do_mirror "
    "writecache_flush_work writecache_writeback writecache_flush_thread "
    "integrity_writer integrity_commit integrity_metadata integrity_bio_wait "
    "integrity_recalc* process_*deferred_bios run_complete_job process_jobs "
    "persistent_commit_exception"
)
_DM_WORK = names(_DM_WORKS)
# Who waits for a lock waits for who has it, which may be no work of the device.
_SLEEPS_FOR_LOCK = "*mutex_lock* *down_read* *down_write* rwsem_down_*"
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

_UNPLUGS = names("*bitmap_unplug_async")

# A wait for the I/O of some block device; one for a server shows none of these.
_BLOCK_IO = names(
    "io_schedule* submit_bio_wait blkdev_issue_* blk_wait_io bio_await* xfs_buf_iowait "
    "__wait_on_buffer"
)
_BELOW_WORKS = (
    f"md_thread raid5_do_work {_CRYPT_WORKS} {_DM_WORKS} {_LOOP_WORKS} "
    "bch_data_insert_start bch_data_insert_keys bch_writeback_thread"
)
_BELOW = names(_BELOW_WORKS)

_LOOP = perhaps(
    "it does the loop device's I/O",
    "drivers/block/loop.c loop_process_work() reads and writes the file below",
    _LOOP_WORK,
    lock="an I/O of a loop device",
    stacked=True,
    same_disk=True,
)
_UNDER_WRITEBACK = perhaps(
    "it writes what a loop device got, whose pages are under writeback until then",
    "mm/page-writeback.c throttle_vm_writeout() (until 6.14) waits until fewer pages "
    "are; drivers/block/loop.c loop_process_work(), do_bio_filebacked() before 3.19",
    _LOOP_WORK,
    lock="the limit of pages under writeback",
    of=names("throttle_vm_writeout"),
    not_of=_LOOP_WORK,
    stacked=True,
)
_ARRAY = perhaps(
    "it works for the array",
    "drivers/md/raid5.c raid5d(), raid1.c raid1d(): writes to the array go through it",
    _MD_THREAD,
    lock="an I/O of an array",
    stacked=True,
    same_disk=True,
)
_BELOW_ALL = perhaps(
    "it works for a device that may lie below",
    "drivers/md/md.c md_thread(), dm-crypt.c kcryptd_crypt(), dm-writecache.c, "
    "drivers/block/loop.c: an I/O to the device above waits for these; the log does "
    "not say which device it is",
    _BELOW,
    lock="an I/O of a stacked device",
    # A sync does no other's I/O, nor does who makes room in a journal of raid5.
    not_shows=names("md_do_sync r5l_do_reclaim"),
    of=_BLOCK_IO,
    not_of=_BELOW,
    stacked=True,
    not_plain=True,
    pool=True,
)
_NO_DISK_NAMES = "nfs_* nfs4_* ceph_* fuse_* cifs_* smb2_* v9fs_* afs_* netfs_*"
_ENDS_WRITEBACK = replace(
    _BELOW_ALL,
    why="it works for a device that may lie below, and the page's I/O ends there",
    source="mm/page-writeback.c folio_end_writeback(): with the bio, which a loop "
    "device, md or device-mapper ends when the device below has (drivers/block/loop.c "
    "lo_complete_rq(), drivers/md/dm-thin.c do_worker())",
    lock="PG_writeback of a page above a stacked device",
    of=None,
    not_of=names(f"{_BELOW_WORKS} {_NO_DISK_NAMES}"),
)
_MOVED = replace(
    _ENDS_WRITEBACK,
    shows=_LOOP_WORK,
    of=names("migrate_pages* migrate_folio_unmap"),
)
_SUSPENDS = "dm_suspend __dm_suspend dm_internal_suspend* dm_wait_for_completion"
_SUSPENDED = replace(
    _BELOW_ALL,
    why="it suspends a mapped device, and I/O to that waits until it is resumed",
    source="drivers/md/dm.c __dm_suspend(): DMF_BLOCK_IO_FOR_SUSPEND, under which "
    "dm_submit_bio() defers bios; the log does not say which device it is",
    shows=names(_SUSPENDS),
    lock="DMF_BLOCK_IO_FOR_SUSPEND of a mapped device",
    not_of=names(f"{_SUSPENDS} {_NO_DISK_NAMES}"),
)
_TARGET_WORKER = perhaps(
    "it suspends the device, or swaps its table, and its target works on after",
    "drivers/md/dm-era-target.c perform_rpc() waits for the target's worker, "
    "which era_postsuspend() stops",
    names("dm_swap_table dm_suspend __dm_suspend"),
    lock="the worker of a suspended target",
    caller=names("perform_rpc in_worker*"),
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.MEMORY: (_MOVED, _UNDER_WRITEBACK),
    c.OTHER: (_TARGET_WORKER,),
    c.JOURNAL_COMMIT_WAIT: (
        replace(
            _ENDS_WRITEBACK,
            why="it works for a device that may lie below, and the log's write ends "
            "there",
            source="fs/xfs/xfs_log.c xlog_ioend_work(), fs/jbd2/commit.c: with the "
            "bio, which a stacked device ends when the device below has",
            lock="a write of the log above a stacked device",
        ),
    ),
    c.PAGE_WRITEBACK: (_ENDS_WRITEBACK, replace(_SUSPENDED, of=None)),
    c.RAID_OR_DM: (
        perhaps(
            "it resyncs the array and keeps writes out",
            "drivers/md/raid1.c raise_barrier(), raid10.c: a resync holds the barrier",
            _RESYNC,
            lock="the barrier of raid1 and raid10",
            of=names("*wait_barrier regular_request_wait md_set_readonly"),
            not_of=names("md_do_sync"),
            stacked=True,
        ),
        perhaps(
            "it is the thread that is to end",
            "drivers/md/md.c md_unregister_thread(): kthread_stop() waits until "
            "md_do_sync() has returned",
            names("md_do_sync"),
            lock="the end of a sync thread",
            of=names("md_unregister_thread md_reap_sync_thread"),
            not_of=names("md_do_sync"),
            stacked=True,
        ),
        perhaps(
            "it uses the table of the mapped device (SRCU)",
            "drivers/md/dm.c dm_get_live_table() is a reader of io_barrier, for which "
            "dm_sync_table() waits with synchronize_srcu()",
            names(
                "table_status table_deps target_message dm_blk_ioctl dm_submit_bio "
                "dm_split_and_process_bio __map_bio"
            ),
            lock="io_barrier of a mapped device",
            of=names("dm_swap_table __dm_suspend dm_suspend dm_sync_table"),
            not_shows=names("dm_swap_table __dm_suspend"),
            stacked=True,
        ),
        _TARGET_WORKER,
        perhaps(
            "it starts or runs the sync that is to stop",
            "drivers/md/md.c stop_sync_thread() waits until MD_RECOVERY_RUNNING is "
            "clear, which md_start_sync() and md_do_sync() run under",
            names("md_start_sync md_do_sync"),
            lock="MD_RECOVERY_RUNNING of an array",
            of=names("stop_sync_thread idle_sync_thread frozen_sync_thread"),
            stacked=True,
        ),
        perhaps(
            "it is inside a request to the array that is to be suspended",
            "drivers/md/md.c mddev_suspend(): until active_io, which "
            "md_handle_request() raises, is zero",
            names("md_handle_request"),
            lock="active_io of an array",
            of=names("mddev_suspend __mddev_suspend"),
            not_shows=names("mddev_suspend __mddev_suspend"),
            stacked=True,
            past=True,
        ),
        perhaps(
            "it is the array's thread, and waits for I/O that it has to end",
            "drivers/md/raid5.c raid5d() (raid1d(), raid10d()) calls "
            "md_check_recovery(), which may call mddev_suspend()",
            names("raid5d raid1d raid10d"),
            lock="active_io of an array",
            of=names("mddev_suspend __mddev_suspend raid5_quiesce"),
            stacked=True,
            itself=True,
        ),
        perhaps(
            "it has requests pending that the resync waits for",
            "drivers/md/raid1.c raise_barrier(): until nothing is pending; raid1d() "
            "and raid10d() retry what failed",
            names("raid1d raid10d"),
            lock="nr_pending of raid1 and raid10",
            of=names("raise_barrier"),
            stacked=True,
        ),
        Holder(
            "it writes the array's bitmap for others",
            "drivers/md/md-bitmap.c md_bitmap_unplug_async() queues "
            "md_bitmap_unplug_fn() and waits for it",
            names("*bitmap_unplug_fn"),
            lock="a write of an array's bitmap",
            caller=_UNPLUGS,
            stacked=True,
        ),
        # md_super_wait() waits for the array's own metadata, which is on its way to the
        # disks; a resync waits for the array's thread as any writer does.
        *(
            replace(
                _ARRAY,
                shows=names(f"{level}d {level}_do_work"),
                of=names(f"{level}_* {more}"),
                not_of=names(f"{level}d {level}_do_work md_super_wait"),
                not_caller=_UNPLUGS,
                same_disk=False,
                confidence=LIKELY,
            )
            for level, more in (
                ("raid1", "md_do_sync"),
                ("raid10", "md_do_sync"),
                ("raid5", "*get_active_stripe *add_stripe_bio md_do_sync"),
            )
        ),
        Holder(
            "it encrypts for the device and writes",
            "drivers/md/dm-crypt.c kcryptd_crypt(), dmcrypt_write()",
            _CRYPT_THREAD,
            lock="an I/O of dm-crypt",
            of=names("crypt_*"),
            not_of=_CRYPT_THREAD,
            stacked=True,
        ),
        replace(
            _BELOW_ALL,
            shows=names(f"{_LOOP_WORKS} md_thread"),
            of=names(" ".join(("dm_bufio_*", "new_read", *own_io.STACKED))),
            lock="an I/O of dm-bufio, dm-io or bcache",
            not_of=names(_LOOP_WORKS),
            not_plain=False,
        ),
        perhaps(
            "it works for the mapped device",
            "drivers/md/dm-thin.c do_worker(), dm-delay.c, dm-raid1.c, dm-writecache.c",
            _DM_WORK,
            lock="an I/O of a mapped device",
            of=names(
                "dm_* __dm_* thin_* snapshot_* writecache_* integrity_* "
                "wait_for_in_progress"
            ),
            not_of=names(f"{_DM_WORKS} {_SLEEPS_FOR_LOCK}"),
            stacked=True,
        ),
        perhaps(
            "it works for the cache",
            "drivers/md/bcache/writeback.c, alloc.c, journal.c",
            _BCACHE_THREAD,
            lock="an I/O of bcache",
            of=names("bch_* cached_dev_*"),
            not_of=_BCACHE_THREAD,
            not_caller=names("bch_bucket_alloc* cached_dev_write"),
            stacked=True,
        ),
        perhaps(
            "it works for the replicated device",
            "drivers/block/drbd/drbd_worker.c, drbd_receiver.c",
            _DRBD_THREAD,
            lock="an I/O of drbd",
            of=names("drbd_* *_drbd_* al_begin_io* inc_ap_bio"),
            not_of=_DRBD_THREAD,
            stacked=True,
        ),
    ),
    c.DEVICE_IO: (
        perhaps(
            "it transfers to the USB device, holding its lock",
            "drivers/usb/storage/usb.c usb_stor_control_thread() holds dev_mutex for a "
            "command, scsiglue.c device_reset() takes it",
            names("usb_stor_control_thread"),
            lock="dev_mutex of usb-storage",
            of=names("scsi_error_handler"),
            caller=names("device_reset command_abort bus_reset"),
            stacked=True,
        ),
        Holder(
            "it recovers the SCSI host from errors",
            "drivers/scsi/scsi_error.c scsi_error_handler(): wakes host_wait in "
            "scsi_restart_operations()",
            names("scsi_error_handler"),
            lock="the error handling of a SCSI host",
            caller=names("scsi_block_when_processing_errors ata_port_wait_eh"),
            stacked=True,
            past=True,
        ),
        perhaps(
            "it recovers a SCSI host, and a command that timed out ends after that",
            "drivers/scsi/scsi_error.c scsi_times_out(), scsi_eh_flush_done_q()",
            names("scsi_error_handler"),
            lock="a command that SCSI recovers from",
            of=names("blk_execute_rq* scsi_execute* __scsi_execute*"),
            not_of=names("scsi_error_handler blk_queue_enter"),
            stacked=True,
            past=True,
        ),
        _LOOP,
        _ARRAY,
        _BELOW_ALL,
        _SUSPENDED,
    ),
    c.BLOCK_QUEUE: (
        _LOOP,
        perhaps(
            "it has frozen the queue",
            "block/blk-mq.c blk_mq_freeze_queue(): bio_queue_enter() waits until it is "
            "unfrozen",
            names(
                "blk_mq_freeze_queue* blk_freeze_queue* elevator_switch* "
                "blk_mq_update_nr_hw_queues __blk_mq_update_nr_hw_queues"
            ),
            lock="mq_freeze_depth of a queue",
            of=ENTERS,
            not_of=names("blk_mq_freeze_queue*"),
        ),
        perhaps(
            "it is inside the queue that is to freeze",
            "block/blk-mq.c blk_mq_freeze_queue_wait(): until q_usage_counter is zero, "
            "which bio_queue_enter() raises before a request is allocated",
            names("blk_mq_get_tag rq_qos_wait wbt_wait __blk_mq_alloc_request*"),
            lock="q_usage_counter of a frozen queue",
            of=names("blk_mq_freeze_queue_wait*"),
        ),
        perhaps(
            "it adds or removes a queue of the same tags, and waits for another's end",
            "block/blk-mq.c blk_mq_del_queue_tag_set(), blk_mq_update_tag_set_shared() "
            "(until 6.18): tag_list_lock is held while a queue freezes",
            names(
                "blk_mq_exit_queue blk_mq_del_queue_tag_set blk_mq_add_queue_tag_set "
                "blk_mq_update_tag_set_shared blk_mq_init_allocated_queue "
                "__blk_mq_update_nr_hw_queues blk_mq_update_nr_hw_queues"
            ),
            lock="the lock of a set of tags (tag_list_lock)",
            caller=names("blk_mq_quiesce_tagset blk_mq_unquiesce_tagset"),
            stacked=True,
        ),
        perhaps(
            "it handles requests or bios of the queue that is to freeze",
            "block/blk-mq.c blk_mq_timeout_work(), drivers/scsi/scsi_error.c "
            "scsi_error_handler(): requests that timed out end after these; "
            "block/blk-zoned.c blk_zone_wplug_bio_work(): its bios hold "
            "q_usage_counter",
            names("blk_mq_timeout_work scsi_error_handler blk_zone_wplug_bio_work"),
            lock="q_usage_counter of a frozen queue",
            of=names("blk_mq_freeze_queue_wait*"),
            stacked=True,
            past=True,
        ),
    ),
}
