# SPDX-License-Identifier: GPL-2.0-only
"""device_locks: who can hold the locks of disks and of devices of the driver core."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, of_row, perhaps
from writestall_base import wait_classes as c

_OPEN_MUTEX = names(
    "bdev_open blkdev_get* __blkdev_get blkdev_put* bdev_release bd_prepare_to_claim "
    "del_gendisk bdev_mark_dead blk_report_disk_dead bdev_disk_changed disk_scan_* "
    "device_add_disk lookup_bdev* bdev_*_part* blkpg_do_ioctl blkdev_reread_part "
    "revalidate_disk* iterate_bdevs sync_bdevs loop_reread_partitions"
)
_HOLDS_OPEN_MUTEX = names(
    "blkdev_get_whole blkdev_put_whole blkdev_flush_mapping bdev_disk_changed "
    "sync_blockdev bdev_release blkdev_put __blkdev_put del_gendisk sd_open sd_release "
    "nvme_open nvme_ns_open lo_open lo_release blk_drop_partitions rescan_partitions "
    "check_partition read_dev_sector read_part_sector"
)
# drivers/base/dd.c, drivers/nvdimm/bus.c, drivers/base/power/main.c.
_DEVICE_LOCK = names(
    "device_lock __device_driver_lock device_release_driver_internal __device_attach "
    "__driver_attach* device_driver_attach device_driver_detach device_shutdown "
    "device_resume __device_resume __device_suspend device_prepare device_complete "
    "bus_rescan_devices_helper device_reprobe nd_device_notify nvdimm_bus_* "
    "usb_disconnect usb_lock_device_for_reset hub_event device_del control_store "
    "online_show bind_store unbind_store report_error_detected report_slot_reset "
    "report_frozen_detected report_normal_detected report_mmio_enabled report_resume"
)
_WITH_DEVICE_LOCK = names(
    "__device_release_driver device_release_driver_internal device_remove "
    "__device_attach really_probe __driver_probe_device driver_probe_device "
    "device_driver_attach device_shutdown usb_reset_device scsi_rescan_device "
    "usb_disconnect report_error_detected report_slot_reset report_resume"
)
_NAMESPACES = names(
    "nvme_alloc_ns* nvme_ns_remove nvme_remove_invalid_namespaces nvme_scan_ns* "
    "nvme_find_get_ns nvme_validate_*ns nvme_remove_namespaces"
)
_WITH_NAMESPACES = names(
    "nvme_wait_freeze* nvme_start_freeze nvme_unfreeze nvme_sync_queues "
    "nvme_sync_io_queues nvme_stop_queues nvme_start_queues nvme_kill_queues"
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: (
        perhaps(
            "it suspends or resumes the device",
            "drivers/base/power/runtime.c rpm_callback() runs with the device "
            "RPM_SUSPENDING or RPM_RESUMING, for the end of which "
            "__pm_runtime_barrier() waits, too",
            names("rpm_callback __rpm_callback"),
            lock="runtime_status of a device",
            caller=names("rpm_resume rpm_suspend *pm_runtime_barrier"),
            stacked=True,
        ),
        perhaps(
            "it freezes or syncs the queues of the controller's namespaces",
            "drivers/nvme/host/core.c nvme_wait_freeze(): namespaces_rwsem for reading "
            "up to 6.10 (SRCU since)",
            _WITH_NAMESPACES,
            lock="the namespaces of an NVMe controller (namespaces_rwsem)",
            caller=_NAMESPACES,
            stacked=True,
        ),
        of_row(
            "the scan of an NVMe controller (scan_lock)",
            "nvme_scan_work nvme_user_cmd nvme_passthru_start nvme_execute_passthru_rq",
            "nvme_remove_invalid_namespaces nvme_update_formats nvme_passthru_end "
            "nvme_scan_ns_list nvme_scan_ns_sequential",
            "it scans the controller's namespaces, holding scan_lock",
            "drivers/nvme/host/core.c nvme_scan_work(); nvme_passthru_start() until "
            "nvme_passthru_end(), for a command that changes namespaces",
            stacked=True,
        ),
        perhaps(
            "it closes the disk that it removes, holding bd_mutex",
            "drivers/nvme/host/multipath.c nvme_mpath_remove_disk(), below "
            "nvme_ns_head_release() (5.13 to 5.14): fs/block_dev.c __blkdev_put() has "
            "bd_mutex, which del_gendisk() takes",
            names("__blkdev_put blkdev_put bdev_release"),
            lock="the lock of a disk's opens and closes (open_mutex)",
            also=names("del_gendisk"),
            caller=names("del_gendisk"),
            stacked=True,
            itself=True,
        ),
        perhaps(
            "it ends a command that changes namespaces, holding subsys->lock",
            "drivers/nvme/host/core.c nvme_passthru_start() (5.2 to 5.3) takes "
            "subsys->lock until nvme_passthru_end(), which calls nvme_update_formats() "
            "before",
            names("nvme_passthru_end nvme_update_formats nvme_user_cmd"),
            lock="the lock of an NVMe subsystem (subsys->lock)",
            also=names("nvme_remove_invalid_namespaces"),
            caller=names("nvme_ns_remove nvme_init_ns_head nvme_find_ns_head"),
            stacked=True,
            itself=True,
        ),
        perhaps(
            "it opens, closes or removes a disk, holding its open_mutex",
            "block/bdev.c bdev_open(), bdev_release(), block/genhd.c del_gendisk(): "
            "disk->open_mutex (bd_mutex before 5.14; fs/block_dev.c "
            "rescan_partitions() runs under it, revalidate_disk() takes it)",
            _HOLDS_OPEN_MUTEX,
            lock="the lock of a disk's opens and closes (open_mutex)",
            caller=_OPEN_MUTEX,
            not_called=_OPEN_MUTEX,
            stacked=True,
        ),
        perhaps(
            "it binds a driver to a device or removes it, holding the device's lock",
            "drivers/base/dd.c __device_attach(), device_release_driver_internal(): "
            "device_lock() while the driver's probe() or remove() runs; "
            "drivers/scsi/scsi_scan.c scsi_rescan_device(); drivers/pci/pcie/err.c "
            "report_slot_reset()",
            _WITH_DEVICE_LOCK,
            lock="the lock of a device (device_lock)",
            caller=_DEVICE_LOCK,
            not_called=_DEVICE_LOCK,
            stacked=True,
        ),
    ),
}
