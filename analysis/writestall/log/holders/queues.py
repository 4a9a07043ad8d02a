# SPDX-License-Identifier: GPL-2.0-only
"""queues: who holds a block queue's limits, keeps it frozen, or uses its head."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_STORES = "queue_*_store elv_iosched_store"
_LIMITS = perhaps(
    "it changes the limits of a queue, holding their lock",
    "include/linux/blkdev.h queue_limits_start_update() takes limits_lock (since 6.9), "
    "queue_limits_commit_update() releases it: drivers/scsi/sd.c sd_revalidate_disk(), "
    "drivers/nvme/host/core.c nvme_update_ns_info_block(), block/blk-sysfs.c",
    names(
        "sd_revalidate_disk sd_read_capacity nvme_update_ns_info* nvme_config_discard "
        f"queue_limits_commit_update* loop_reconfigure_limits nbd_set_size {_STORES} "
        "virtblk_update_cache_mode blk_revalidate_disk_zones dm_table_set_restrictions"
    ),
    lock="the lock of a queue's limits (limits_lock)",
    caller=names(
        f"queue_limits_start_update {_STORES} queue_attr_store queue_limits_set "
        "dm_table_set_restrictions dm_set_zones_restrictions sd_revalidate_disk "
        "sd_zbc_* nvme_update_ns_info* loop_reconfigure_limits nbd_set_size "
        "blk_revalidate_disk_zones disk_update_zone_resources"
    ),
    past=True,
    stacked=True,
)
# Where a bio or a request enters its queue, and waits while that is frozen.
ENTERS = names("blk_queue_enter __bio_queue_enter bio_queue_enter")
_STORE_FROZE = perhaps(
    "it has frozen the queue, to store a file of sysfs",
    "block/blk-sysfs.c queue_attr_store() freezes the queue before it calls the file's "
    "own function (up to 6.13), elevator.c elv_iosched_store() since",
    names("queue_attr_store"),
    lock="mq_freeze_depth of a queue",
    also=names(_STORES),
    not_shows=names("blk_mq_freeze_queue_wait*"),
    of=ENTERS,
    stacked=True,
)
_HEAD = perhaps(
    "it is inside a request to the multipath device (SRCU)",
    "drivers/nvme/host/multipath.c nvme_ns_head_submit_bio() is a reader of "
    "head->srcu, for which nvme_mpath_set_live() and nvme_ns_remove() wait",
    names("nvme_ns_head_submit_bio nvme_ns_head_make_request nvme_ns_head_*ioctl"),
    lock="readers of an NVMe multipath device (srcu)",
    of=names(
        "nvme_mpath_set_live nvme_mpath_clear_* nvme_ns_remove nvme_remove_ns_head "
        "nvme_mpath_shutdown_disk nvme_update_ns_ana_state"
    ),
    caller=names("synchronize_srcu* __synchronize_srcu nvme_mpath_* nvme_ns_remove"),
    any_right=True,
    stacked=True,
)
# Of Linux 6.1 and 6.12: what they call until blk_mq_unfreeze_queue().
_FREEZERS = (
    "del_gendisk nvme_update_ns_info* nvme_update_disk_info loop_set_status "
    "loop_change_fd __loop_update_dio __loop_clr_fd loop_set_dio nbd_add_socket "
    "virtblk_freeze* blkcg_activate_policy blkcg_deactivate_policy ioc_qos_write "
    "iolatency_set_limit elevator_switch* elevator_disable do_rbd_remove "
    "disk_set_zoned scsi_device_quiesce"
)
_DRIVER_FROZE = perhaps(
    "it is in a function that freezes the queue",
    "block/genhd.c del_gendisk() (blk_freeze_queue_start() in __blk_mark_disk_dead(), "
    "before open_mutex from 6.5 to 6.10), drivers/nvme/host/core.c "
    "nvme_update_ns_info(), drivers/block/loop.c loop_set_status(), block/blk-cgroup.c "
    "blkcg_activate_policy()",
    names(_FREEZERS),
    lock="mq_freeze_depth of a queue",
    of=ENTERS,
    stacked=True,
    itself=True,
)
_RESETS = perhaps(
    "it resets the controller, whose queues are frozen meanwhile",
    "drivers/nvme/host/pci.c nvme_dev_disable() calls nvme_start_freeze(), "
    "nvme_reset_work() nvme_unfreeze() at its end; so apple.c",
    names("nvme_reset_work apple_nvme_reset_work"),
    lock="mq_freeze_depth of a queue",
    of=ENTERS,
    stacked=True,
)
_SENDS = perhaps(
    "it sends requests of a queue, and waits before they are sent",
    "block/blk-mq.c blk_mq_dispatch_rq_list() calls the driver's queue_rq(), "
    "drivers/ufs/core/ufshcd.c ufshcd_queuecommand(): a request holds q_usage_counter "
    "until it has ended",
    names(
        "blk_mq_dispatch_rq_list __blk_mq_issue_directly blk_mq_try_issue_directly "
        "scsi_queue_rq nvme_queue_rq loop_queue_rq nbd_queue_rq"
    ),
    lock="q_usage_counter of a frozen queue",
    of=names("blk_mq_freeze_queue_wait* blk_freeze_queue"),
    past=True,
    stacked=True,
)
_RESUMES = perhaps(
    "it gives a suspended device its table, and requests wait until it is resumed",
    "drivers/md/dm-ioctl.c do_resume() calls dm_suspend(), dm_swap_table() and "
    "dm_resume(); dm-rq.c dm_stop_queue(): requests inside stay there meanwhile",
    names("dm_swap_table dm_table_set_restrictions"),
    lock="q_usage_counter of a mapped device that is suspended",
    caller=names("blk_mq_freeze_queue_wait*"),
    not_shows=names("blk_mq_freeze_queue_wait*"),
    stacked=True,
)
_IN_HEAD = perhaps(
    "it is inside a request to the multipath device that is to freeze",
    "block/blk-core.c generic_make_request(), __submit_bio(): q_usage_counter is held "
    "while the driver's function runs, nvme_ns_head_submit_bio()",
    names("nvme_ns_head_submit_bio nvme_ns_head_make_request"),
    lock="q_usage_counter of an NVMe multipath device",
    # Their queues were frozen before (nvme_start_freeze()): who is inside waits there.
    of=names(
        "nvme_user_cmd nvme_passthru_end nvme_update_formats nvme_*_ioctl "
        "nvme_mpath_wait_freeze"
    ),
    caller=names("blk_mq_freeze_queue_wait*"),
    any_right=True,
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (_LIMITS, _HEAD),
    c.RAID_OR_DM: (_LIMITS,),
    c.BLOCK_QUEUE: (
        _LIMITS,
        _STORE_FROZE,
        _DRIVER_FROZE,
        _RESETS,
        _SENDS,
        _RESUMES,
        _IN_HEAD,
    ),
}
