# SPDX-License-Identifier: GPL-2.0-only
"""arrays: who keeps an array suspended, flushes it, or has the locks of a cluster's."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_SUSPENDERS = (
    "mddev_suspend __mddev_suspend mddev_suspend_and_lock suspend_lo_store "
    "suspend_hi_store level_store serialize_policy_store raid_postsuspend "
    "raid5_change_consistency_policy"
)
_SENDS = "lock_token dlm_lock_sync* __sendmsg metadata_update_start unlock_comm"

_SUSPENDED = perhaps(
    "it suspends the array, and requests wait until it is resumed",
    "drivers/md/md.c md_handle_request() waits while is_suspended(): from "
    "mddev_suspend() to mddev_resume(), and in the range of suspend_lo_store()",
    names(_SUSPENDERS),
    lock="the suspension of an array",
    caller=names("md_handle_request md_make_request"),
    stacked=True,
)
_FLUSHES = perhaps(
    "it does the flush of the array that is under way",
    "drivers/md/md.c md_flush_request() waits until flush_bio is clear, which "
    "md_submit_flush_data() does at its begin (at its end before 5.15)",
    names("md_submit_flush_data submit_flushes"),
    lock="a flush of an array (flush_bio)",
    caller=names("md_flush_request"),
    stacked=True,
)
_SENDER = perhaps(
    "it sends a message to the cluster, and waits for the right to",
    "drivers/md/md-cluster.c lock_comm() sets MD_CLUSTER_SEND_LOCK, then lock_token() "
    "waits for token_lockres of the cluster",
    names(_SENDS),
    lock="MD_CLUSTER_SEND_LOCK of an array",
    caller=names("lock_comm metadata_update_start"),
    stacked=True,
)
_CONFIGURES = perhaps(
    "it changes the array, holding reconfig_mutex",
    "drivers/md/md-cluster.c process_metadata_update() tries reconfig_mutex again and "
    "again; drivers/md/md.c md_ioctl(), md_attr_store() hold it",
    names("md_ioctl md_attr_store md_check_recovery"),
    lock="the lock of an array's configuration (reconfig_mutex)",
    caller=names("process_metadata_update"),
    not_called=names("md_ioctl md_attr_store mddev_lock"),
    stacked=True,
)
_SYNCS = perhaps(
    "it resyncs, checks or reshapes the array, and is to stop",
    "drivers/md/md.c stop_sync_thread(), idle_sync_thread(): until MD_RECOVERY_RUNNING "
    "is clear, after md_do_sync() has returned",
    names("md_do_sync"),
    lock="the sync of an array (MD_RECOVERY_RUNNING)",
    caller=names(
        "action_store idle_sync_thread frozen_sync_thread stop_sync_thread "
        "md_idle_sync_thread md_frozen_sync_thread md_reap_sync_thread"
    ),
    stacked=True,
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.RAID_OR_DM: (_SUSPENDED, _FLUSHES, _SENDER, _CONFIGURES, _SYNCS),
    c.OTHER: (_SENDER, _CONFIGURES),
    c.FS_LOCK: (_SENDER,),
}
