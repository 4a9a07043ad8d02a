# SPDX-License-Identifier: GPL-2.0-only
"""block: rules for waits of block/, its drivers, md and device-mapper."""

from __future__ import annotations

import re

from writestall.classify import named_waits as w
from writestall.classify.rules.form import EVENT, LOCK, Rule, names
from writestall_base import wait_classes as c

# A task that sleeps below these has not yet submitted its bio (block/blk-core.c,
# fs/buffer.c); in submit_bio_wait() and the like it waits for the bio's end.
SUBMIT = re.compile(
    r"submit_bio(_noacct\w*)?|__submit_bio\w*|generic_make_request\w*"
    r"|direct_make_request|_*submit_bh\w*"
)


_MD: tuple[Rule, ...] = (
    Rule(
        c.RAID_OR_DM,
        ("md_do_sync", "*bitmap_cond_end_sync"),
        "drivers/md/md.c md_do_sync(), md-bitmap.c md_bitmap_cond_end_sync(): until "
        "recovery_active is zero",
        not_wait=(LOCK,),
        first=True,
        named=w.SYNC_IO,
    ),
    Rule(
        c.RAID_OR_DM,
        ("crypt_convert*",),
        "drivers/md/dm-crypt.c crypt_convert(): until the cipher's driver takes or has "
        "done a request",
        not_wait=(LOCK,),
        first=True,
        named=w.CIPHER,
    ),
    Rule(
        c.RAID_OR_DM,
        ("raise_barrier", "freeze_array"),
        "drivers/md/raid1.c raise_barrier(), freeze_array(), raid10.c: until nothing "
        "is pending",
        named=w.RAISES_BARRIER,
    ),
    Rule(
        c.RAID_OR_DM,
        ("*wait_barrier", "wait_read_barrier", "regular_request_wait"),
        "drivers/md/raid1.c _wait_barrier(), raid10.c wait_barrier(): until the "
        "barrier is lowered",
        named=w.BARRIER_RAISED,
    ),
    Rule(
        c.RAID_OR_DM,
        (
            *("md_write_start", "md_super_wait", "md_update_sb", "raid5d", "raid1*d"),
            *("md_ioctl", "*bitmap_unplug_async"),
        ),
        "drivers/md/md.c md_write_start(), md_ioctl(): until MD_SB_CHANGE_PENDING is "
        "clear, as raid5d() does in raid5.c; md_super_wait(), md-bitmap.c "
        "md_bitmap_unplug_async(): until the writes of the superblock, or of the "
        "bitmap by a worker, have ended",
        not_wait=(LOCK,),
        first=True,
        named=w.ARRAY_METADATA,
    ),
    Rule(
        c.RAID_OR_DM,
        ("*bitmap_startwrite",),
        "drivers/md/md-bitmap.c md_bitmap_startwrite(): while a counter is "
        "COUNTER_MAX, until md_bitmap_endwrite()",
        not_wait=(LOCK,),
        first=True,
        named=w.BITMAP_COUNTER,
    ),
    Rule(
        c.RAID_OR_DM,
        ("*get_active_stripe", "resize_stripes"),
        "drivers/md/raid5.c raid5_get_active_stripe(), resize_stripes(): until a "
        "stripe is inactive, or the array is no more quiesced",
        not_wait=(LOCK,),
        named=w.FREE_STRIPE,
    ),
    Rule(
        c.RAID_OR_DM,
        ("wait_woken",),
        "drivers/md/raid5.c raid5_make_request(): make_stripe_request() returns "
        "STRIPE_SCHEDULE_AND_RETRY while the reshape is there or requests overlap",
        callers=("raid5_make_request",),
        bare=True,
        named=w.RESHAPE,
    ),
    Rule(
        c.RAID_OR_DM,
        ("raid5_make_request",),
        "drivers/md/raid5.c raid5_make_request() up to 5.19: schedule() of its own "
        "while the reshape is there, or a stripe expands or overlaps",
        not_wait=(LOCK,),
        first=True,
        named=w.RESHAPE,
    ),
    Rule(
        c.RAID_OR_DM,
        ("mddev_suspend", "__mddev_suspend", "raid5_quiesce"),
        "drivers/md/md.c mddev_suspend(): until active_io is zero; raid5.c "
        "raid5_quiesce(): until no stripe is in use",
        not_wait=(LOCK,),
        named=w.SUSPENDS_ARRAY,
    ),
    Rule(
        c.RAID_OR_DM,
        ("md_handle_request",),
        "drivers/md/md.c md_handle_request(): while is_suspended()",
        first=True,
        named=w.ARRAY_SUSPENDED,
    ),
    Rule(
        c.RAID_OR_DM,
        names(
            "stop_sync_thread idle_sync_thread frozen_sync_thread md_unregister_thread "
            "md_reap_sync_thread"
        ),
        "drivers/md/md.c stop_sync_thread(): until MD_RECOVERY_RUNNING is clear",
        not_wait=(LOCK,),
        named=w.STOPS_SYNC,
    ),
    Rule(
        c.RAID_OR_DM,
        ("dm_swap_table", "dm_suspend", "__dm_suspend", "dm_sync_table"),
        "drivers/md/dm.c dm_sync_table(): synchronize_srcu(), until no reader has the "
        "old table",
        callers=("dm_swap_table", "dm_suspend", "__dm_suspend", "dev_suspend"),
        wait=(EVENT,),
        named=w.TABLE_USERS,
    ),
    Rule(
        c.RAID_OR_DM,
        ("dm_suspend", "__dm_suspend", "dm_wait_for_*completion"),
        "drivers/md/dm.c dm_wait_for_completion(): until no bio of the device is in "
        "flight",
        not_wait=(LOCK,),
        named=w.SUSPENDS_MAP,
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        c.DEVICE_IO,
        ("scsi_*", "__scsi_*", "ata_*", "sas_*", "__ata_*"),
        "drivers/scsi/scsi_error.c scsi_error_handler(): aborts commands, then resets "
        "the device, the bus, the host",
        callers=("scsi_error_handler",),
        named=w.HANDLES_ERRORS,
    ),
    Rule(
        c.DEVICE_IO,
        ("scsi_block_when_processing_errors", "ata_port_wait_eh"),
        "drivers/scsi/scsi_error.c scsi_block_when_processing_errors(): on host_wait, "
        "until the host is no more in recovery",
        named=w.AWAITS_HANDLER,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("rq_qos_wait", "wbt_wait", "__wbt_wait"),
        "block/blk-wbt.c wbt_wait(): the disk is slow for others, so writeback waits",
        callers=("wbt_wait", "__rq_qos_throttle", "blk_mq_*", "blk_queue_bio"),
        not_callers=("blkcg_*", "ioc_*"),
        named=w.WBT,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("ioc_rqos_throttle",),
        "block/blk-iocost.c ioc_rqos_throttle(): the bio costs more than the share of "
        "its cgroup (io.weight, io.cost.qos)",
        named=w.IO_WEIGHT,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("rq_qos_wait", "blkcg_iolatency_throttle"),
        "block/blk-iolatency.c blkcg_iolatency_throttle(): I/O of its cgroup makes "
        "that of another one slower than its io.latency",
        callers=("blkcg_*",),
        named=w.IO_LATENCY,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("blkcg_maybe_throttle_current", "blkcg_maybe_throttle_blkg"),
        "block/blk-cgroup.c blkcg_maybe_throttle_blkg(): on the way back to user space "
        "a task waits for I/O done in its name (blk-iocost.c, blk-iolatency.c)",
        named=w.IN_ITS_NAME,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("blk_throtl_*", "__blk_throtl_bio"),
        "block/blk-throttle.c: the limit of a cgroup (io.max). __blk_throtl_bio() only "
        "queues the bio, so most waits for it show no more than a wait for the I/O",
        named=w.IO_MAX,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("blk_mq_freeze_queue_wait*",),
        "block/blk-mq.c blk_mq_freeze_queue_wait() below drivers/nvme/host/pci.c "
        "nvme_reset_work(): a reset goes on when all requests have ended",
        callers=("nvme_*reset*", "nvme_wait_freeze*"),
        named=w.RESETS_NVME,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("blk_mq_freeze_queue*", "blk_freeze_queue*"),
        "block/blk-mq.c blk_mq_freeze_queue_wait(): until q_usage_counter is zero",
        named=w.FREEZES_QUEUE,
    ),
    Rule(
        c.OTHER,
        names(
            "flush_work __flush_work *flush_workqueue flush_delayed_work "
            "cancel_*work_sync __cancel_work*"
        ),
        "kernel/workqueue.c __flush_work(): until the work's function has returned; "
        "drivers/nvme/host/core.c nvme_reset_ctrl_sync()",
        callers=("nvme_*", "scsi_*", "disk_*", "del_gendisk", "usb_*"),
        named=w.FLUSHES_WORK,
    ),
    Rule(
        c.OTHER,
        names(
            "synchronize_*rcu* __synchronize_*rcu* __wait_rcu_gp wait_rcu_exp_gp "
            "synchronize_sched* rcu_barrier* _rcu_barrier*"
        ),
        "kernel/rcu/tree.c synchronize_rcu(), rcu_barrier(): until all CPUs have been "
        "outside of readers, or have run what was put off",
        not_callers=("dm_*", "__dm_*", "md_*", "bch_*"),
        named=w.GRACE_PERIOD,
    ),
    Rule(
        c.OTHER,
        ("scsi_remove_target", "scsi_remove_host", "scsi_target_reap*"),
        "drivers/scsi/scsi_sysfs.c scsi_remove_target(): until the target's last "
        "device is released",
        not_wait=(LOCK,),
        first=True,
        named=w.REMOVES_SCSI,
    ),
    Rule(
        c.OTHER,
        ("rpm_resume", "rpm_suspend", "__pm_runtime_barrier"),
        "drivers/base/power/runtime.c rpm_resume(): while the device is suspending or "
        "resuming",
        not_wait=(LOCK,),
        first=True,
        named=w.RUNTIME_PM,
    ),
    Rule(
        c.OTHER,
        ("call_usermodehelper_exec",),
        "kernel/umh.c call_usermodehelper_exec(): until the program has ended, or run",
        first=True,
        named=w.HELPER,
    ),
    Rule(
        c.DEVICE_IO,
        ("nvme_*_connect_ctrl_work", "nvme_*_connect_*queue*", "nvmf_connect_*"),
        "drivers/nvme/host/fc.c nvme_fc_connect_ctrl_work(), fabrics.c "
        "nvmf_connect_admin_queue(): until the controller has answered",
        not_wait=(LOCK,),
        named=w.CONNECTS,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("blk_queue_enter", "__bio_queue_enter", "bio_queue_enter"),
        "block/blk-core.c blk_queue_enter(): until mq_freeze_depth is zero",
        not_wait=(LOCK,),
        first=True,
        named=w.FROZEN_QUEUE,
    ),
    Rule(
        c.DEVICE_IO,
        ("inode_dio_wait*", "__inode_dio_wait", "inode_dio_finished"),
        "fs/inode.c inode_dio_wait(): until i_dio_count is zero",
        not_wait=(LOCK,),
        first=True,
        bare=True,
        named=w.DIRECT_IO,
    ),
    Rule(
        c.OTHER,
        ("cpuhp_kick_ap*", "cpuhp_invoke_ap_callback"),
        "kernel/cpu.c cpuhp_kick_ap(): until cpuhp/N has run the callbacks",
        not_wait=(LOCK,),
        named=w.CPU_HOTPLUG,
    ),
    Rule(
        c.OTHER,
        ("rpc_shutdown_client",),
        "net/sunrpc/clnt.c rpc_shutdown_client(): until cl_tasks is empty",
        named=w.RPC_CLIENT,
    ),
    Rule(
        c.OTHER,
        ("kthread_stop*",),
        "kernel/kthread.c kthread_stop(): until the thread's function has returned",
        not_callers=("md_*",),
        named=w.THREAD_ENDS,
    ),
    Rule(
        c.OTHER,
        ("kernfs_drain", "__kernfs_remove"),
        "fs/kernfs/dir.c kernfs_drain(): until kn->active is deactivated",
        not_wait=(LOCK,),
        first=True,
        named=w.SYSFS_USERS,
    ),
    Rule(
        c.DEVICE_IO,
        ("usb_*reset*", "hub_port_reset", "hub_port_init"),
        "drivers/usb/core/hub.c usb_reset_device(): waits for the device's port",
        named=w.RESETS_USB,
    ),
    Rule(
        c.DEVICE_IO,
        (
            "usb_kill_urb",
            "usb_poison_urb",
            "usb_start_wait_urb",
            "usb_sg_wait",
            "usb_stor_*",
            "command_abort",
            "usbnet_terminate_urbs",
            "wait_skb_queue_empty",
        ),
        "drivers/usb/core/message.c usb_start_wait_urb(), drivers/usb/storage/"
        "transport.c usb_stor_msg_common(), scsiglue.c command_abort(), "
        "drivers/net/usb/usbnet.c "
        "usbnet_terminate_urbs(): for transfers",
        not_wait=(LOCK,),
        named=w.USB_DEVICE,
    ),
    Rule(
        c.BLOCK_QUEUE,
        names(
            "blk_mq_get_tag bt_get __blk_mq_alloc_request* blk_mq_alloc_request* "
            "blk_mq_get_request blk_mq_map_request get_request get_request_wait "
            "__get_request blk_get_request blk_queue_enter __bio_queue_enter "
            "bio_queue_enter blk_mq_queue_enter rq_qos_wait __rq_qos_throttle wbt_wait "
            "__wbt_wait ioc_rqos_throttle blkcg_iolatency_throttle "
            "blkcg_maybe_throttle_current blk_throtl_* __blk_throtl_bio "
            "blk_mq_submit_bio blk_mq_make_request blk_sq_make_request blk_queue_bio "
            "blk_mq_quiesce_* blk_mq_wait_quiesce_done blk_drain_queue "
            "__blk_drain_queue elv_quiesce_start elv_drain_elevator"
        ),
        "block/blk-mq-tag.c, blk-core.c, blk-rq-qos.c, blk-iocost.c, blk-iolatency.c, "
        "blk-wbt.c, blk-throttle.c: the queue lets nobody in yet",
    ),
    *_MD,
    Rule(
        c.RAID_OR_DM,
        names(
            "md_* __md_* mddev_* __mddev_* submit_flushes raid0_* raid1* raid10* "
            "raid5* r5l_* r5c_* ops_run_io handle_stripe* handle_active_stripes "
            "flush_bio_list flush_pending_writes *wait_barrier raise_barrier "
            "freeze_array get_active_stripe __add_stripe_bio bitmap_* llbitmap_* dm_* "
            "__dm_* _dm_* dmcrypt_* crypt_* kcryptd* thin_* pool_map snapshot_* "
            "__origin_write do_origin do_mirror do_writes pending_complete "
            "writecache_* integrity_* dmz_* multipath_* bch_* cached_dev_* drbd_* "
            "_drbd_* __drbd_* al_begin_io* inc_ap_bio vdo_* uds_*"
        ),
        "drivers/md, drivers/block/drbd: the stacked device itself keeps the bio",
    ),
    Rule(
        c.RAID_OR_DM,
        ("make_request", "write_pages", "write_page", "process_bio"),
        "drivers/md/raid1.c, raid10.c, raid5.c make_request() before 4.8, md-bitmap.c",
        callers=("md_*", "raid*", "dm_*", "generic_make_request*", "do_worker"),
    ),
    Rule(
        c.DEVICE_IO,
        names(
            "submit_bio* __submit_bio* generic_make_request* direct_make_request "
            "submit_bh* _submit_bh __submit_bh* ll_rw_block write_dirty_buffer "
            "bio_await* blk_wait_io __sync_dirty_buffer sync_dirty_buffer "
            "blkdev_issue_* __blkdev_issue_* blk_execute_rq* blk_mq_dispatch_* "
            "blk_mq_sched_dispatch_* __blk_mq_sched_dispatch_* blk_mq_run_hw_queue* "
            "__blk_mq_run_hw_queue blk_mq_flush_plug_list"
        ),
        "block/blk-core.c submit_bio(): asleep in submission by no queue limit named "
        "above, so the disk or its driver keeps the submitter; submit_bio_wait(), "
        "blkdev_issue_flush() and blk_execute_rq() wait for the I/O itself",
        not_callers=("loop_set_status*", "loop_configure", "__loop_clr_fd"),
    ),
    Rule(
        c.DEVICE_IO,
        names(
            "scsi_* __scsi_* nvme_* __nvme_* virtblk_* virtio_queue_rq loop_* "
            "lo_rw_aio mmc_wait_for_* __mmc_claim_host mmc_blk_* ata_exec_internal*"
        ),
        "drivers/scsi, nvme, mmc, ata, block: a driver waits for its disk; a lock of "
        "its own is one of its set-up",
        not_wait=(LOCK,),
        seen=True,
        not_callers=("loop_set_status*", "loop_configure", "__loop_clr_fd"),
    ),
    Rule(
        c.INODE_LOCK,
        ("*blockdev_direct_IO*", "dio_*"),
        "fs/direct-io.c __blockdev_direct_IO(): takes i_rwsem for a read (DIO_LOCKING)",
        wait=(LOCK,),
        first=True,
    ),
    Rule(
        c.DEVICE_IO,
        names(
            "__wait_on_buffer wait_on_buffer __lock_buffer bh_submit_read __bh_read* "
            "__bread* ext4_bread* ext4_read_bh* dio_await_* __blockdev_direct_IO "
            "do_blockdev_direct_IO blkdev_direct_IO __blkdev_direct_IO* iomap_dio_rw "
            "__iomap_dio_rw inode_dio_wait* __inode_dio_wait read_extent_buffer_pages* "
            "btree_read_extent_buffer_pages iomap_read_*sync read_pages swap_read* "
            "wait_on_sync_kiocb wait_for_all_aios exit_aio *_biowait lbmIOWait "
            "zio_wait bch2_nocow_write bch2_dio_write_loop"
        ),
        "fs/buffer.c __wait_on_buffer(): BH_Lock is held for the time of the I/O; "
        "fs/direct-io.c, fs/iomap/direct-io.c, fs/bcachefs/io_write.c (6.7 to 6.17): "
        "the caller waits for its own bios",
        not_callers=("jbd2_log_do_checkpoint", "log_do_checkpoint", "do_get_*_access"),
        first=True,
    ),
    Rule(
        c.BLOCK_QUEUE,
        ("blk_*", "__blk_*", "blkcg_*", "elevator_*", "elv_*", "bfq_*"),
        "block/: a lock of the queue, of its tags or cgroups",
        wait=(LOCK,),
        first=True,
        named=w.BLOCK_LOCK,
    ),
)
