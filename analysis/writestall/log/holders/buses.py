# SPDX-License-Identifier: GPL-2.0-only
"""buses: who holds what disks hang from: PCI slots, RDMA and iSCSI connections,
persistent memory; and the locks of all network devices and of all clocks.

A lock of a slot or connection names no object on a stack: all are `possible`.
"""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, of_row, perhaps
from writestall_base import wait_classes as c

_HOTPLUG = (
    "pciehp_ist pciehp_handle_presence_or_link_change pciehp_handle_button_press "
    "pciehp_disable_slot pciehp_enable_slot"
)
# The lock or event; who waits; who has it or ends it; what that does; the source (of
# Linux 6.12).
_ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "pci_rescan_remove_lock",
        "pci_lock_rescan_remove pciehp_configure_device pciehp_unconfigure_device "
        "acpiphp_* pci_stop_and_remove_bus_device_locked",
        "pci_stop_and_remove_bus_device pci_stop_bus_device pci_remove_bus_device "
        "pci_rescan_bus pci_scan_slot pci_scan_child_bus* pci_hp_add_bridge "
        "pci_bus_add_devices",
        "it adds or removes PCI devices, under the lock of all that do",
        "drivers/pci/probe.c pci_lock_rescan_remove(): pciehp_configure_device(), "
        "pciehp_unconfigure_device(), remove_store() hold it",
    ),
    (
        "reset_lock of a PCI hotplug controller",
        "pciehp_reset_slot pciehp_reset_lock",
        _HOTPLUG,
        "it handles an event of the slot, which must not be reset meanwhile",
        "drivers/pci/hotplug/pciehp_hpc.c pciehp_ist() has reset_lock for reading, "
        "pciehp_reset_slot() takes it for writing",
    ),
    (
        "reset_lock of a PCI hotplug controller",
        _HOTPLUG,
        "pciehp_reset_slot",
        "it resets the slot",
        "drivers/pci/hotplug/pciehp_hpc.c pciehp_reset_slot() has reset_lock for "
        "writing until the reset is over",
    ),
    (
        "the lock of a device (device_lock)",
        "__device_driver_lock device_release_driver_internal pci_dev_set_disconnected "
        "pci_dev_set_io_state report_*",
        "pci_slot_reset pci_bus_reset pci_reset_bus pci_reset_function "
        "pci_try_reset_function __pci_reset_function_locked sriov_numvfs_store",
        "it resets or configures PCI devices, each with its lock",
        "drivers/pci/pci.c pci_slot_reset(): pci_slot_lock() has the lock of each "
        "device of the slot; pci_reset_function(); iov.c sriov_numvfs_store(); "
        "pcie/err.c report_resume() takes it",
    ),
    (
        "pci_bus_sem",
        "pci_device_add pci_stop_dev pci_destroy_dev pci_remove_bus pci_walk_bus "
        "pci_add_new_bus pci_alloc_child_bus",
        "pci_walk_bus",
        "it calls a function for each device of a bus",
        "drivers/pci/bus.c pci_walk_bus() has pci_bus_sem for reading meanwhile; "
        "probe.c pci_device_add() takes it for writing",
    ),
    (
        "the end of an abort of a SCSI target",
        "tcm_loop_issue_tmr __transport_wait_for_tasks transport_generic_free_cmd",
        "target_tmr_work core_tmr_abort_task core_tmr_lun_reset",
        "it aborts commands of the target, and waits until these have ended",
        "drivers/target/target_core_tmr.c core_tmr_abort_task(): then the request is "
        "answered, for which loopback/tcm_loop.c tcm_loop_issue_tmr() waits, and the "
        "command is free (transport_generic_free_cmd())",
    ),
    (
        "pci_slot_mutex",
        "pci_dev_assign_slot pci_create_slot pci_destroy_slot pci_bus_error_reset",
        "pci_bus_error_reset pci_slot_reset pci_reset_hotplug_slot",
        "it resets the slots of a bus",
        "drivers/pci/pci.c pci_bus_error_reset() has pci_slot_mutex while it resets "
        "each slot",
    ),
    (
        "the configuration of a PCI device (block_cfg_access)",
        "pci_wait_cfg pci_cfg_access_lock",
        "pci_dev_lock pci_reset_function pci_try_reset_function pci_reset_bus "
        "__pci_reset_bus pci_bus_lock pci_slot_lock zpci_event_error "
        "__zpci_event_error zpci_event_attempt_error_recovery",
        "it is to reset the device, and keeps others from its configuration",
        "drivers/pci/pci.c pci_dev_lock(): pci_cfg_access_lock(), and up to 5.17 the "
        "device's lock after it; arch/s390/pci/pci_event.c "
        "zpci_event_attempt_error_recovery()",
    ),
    (
        "the users of a vfio device",
        "vfio_unregister_group_dev",
        "vfio_device_fops_release vfio_df_close vfio_df_group_close vfio_group_fops_* "
        "vfio_pci_core_close_device vfio_pci_core_disable",
        "it closes the device that is to go",
        "drivers/vfio/vfio_main.c vfio_unregister_group_dev() waits until the device "
        "has no reference",
    ),
    (
        "handler_mutex of an RDMA connection",
        "rdma_destroy_id rdma_connect* rdma_accept* rdma_set_*",
        "cma_cm_event_handler cma_ib_handler cma_iw_handler cma_ib_req_handler "
        "cma_work_handler addr_handler iw_conn_req_handler",
        "it handles an event of the connection",
        "drivers/infiniband/core/cma.c cma_ib_handler(): handler_mutex is held while "
        "the user's event handler runs; rdma_destroy_id() takes it",
    ),
    (
        "mutex of an iSER target's portal",
        "isert_cma_handler isert_connect_error isert_connect_request "
        "isert_conn_terminate isert_connected_handler",
        "isert_free_np isert_connect_release",
        "it frees the portal's connections",
        "drivers/infiniband/ulp/isert/ib_isert.c isert_free_np() releases connections "
        "under isert_np->mutex (up to 6.4), which event handlers take",
    ),
    (
        "the end of an iSCSI session (session_wait_comp)",
        "iscsi_check_for_session_reinstatement iscsit_stop_session "
        "iscsit_cause_connection_reinstatement",
        "iscsit_close_connection",
        "it closes a connection of the session",
        "drivers/target/iscsi/iscsi_target.c iscsit_stop_session() waits until "
        "iscsit_close_connection() of each connection is at its end",
    ),
    (
        "probes of an nvdimm bus (probe_active)",
        "wait_nvdimm_bus_probe_idle",
        "nvdimm_bus_probe",
        "it probes a device of the bus",
        "drivers/nvdimm/bus.c nvdimm_bus_probe() raises probe_active until the "
        "driver's probe() is over",
    ),
    (
        "the lock of an nvdimm device (device_lock)",
        "flush_namespaces flush_regions_dimms",
        "device_release_driver_internal __device_attach nvdimm_bus_probe "
        "nvdimm_bus_remove uuid_store",
        "it has a device of the bus locked",
        "drivers/nvdimm/core.c flush_namespaces() takes and releases the lock of each "
        "device; drivers/base/dd.c device_release_driver_internal() has it",
    ),
    (
        "the lock of all network devices (rtnl_mutex)",
        "rtnl_lock rtnl_lock_killable __netlink_dump_start rtnetlink_rcv_msg "
        "ip_mc_drop_socket ipv6_sock_mc_close addrconf_verify_work linkwatch_event "
        "register_netdev unregister_netdev devinet_ioctl",
        "dev_ioctl dev_ethtool rtnl_newlink rtnl_setlink rtnl_dellink do_setlink "
        "register_netdevice unregister_netdevice_many* dev_open dev_close "
        "__dev_change_flags default_device_exit_batch linkwatch_event "
        "rtnetlink_rcv_msg __dev_open __dev_close_many dev_set_mtu* netif_set_mtu* "
        "dev_change_flags netif_change_flags ethnl_default_doit ethnl_default_set_doit "
        "inetdev_event addrconf_notify bond_enslave br_add_if vlan_ioctl_handler",
        "it changes or asks network devices, under the lock of all that do",
        "include/linux/rtnetlink.h rtnl_lock(); net/core/dev_ioctl.c dev_ioctl() "
        "has it while the driver is asked; up to 6.8 it is cb_mutex of netlink's dumps",
    ),
    (
        "the lock of all network namespaces (pernet_ops_rwsem)",
        "register_netdevice_notifier unregister_netdevice_notifier copy_net_ns "
        "register_pernet_subsys register_pernet_device unregister_pernet_subsys "
        "unregister_pernet_device",
        "cleanup_net setup_net ops_exit_list ops_init register_pernet_operations "
        "unregister_pernet_operations",
        "it makes or removes a network namespace, or what each has",
        "include/net/net_namespace.h register_pernet_subsys(); cleanup_net() has "
        "pernet_ops_rwsem until ops_exit_list() is over",
    ),
    (
        "prepare_lock of clocks",
        "clk_prepare_lock clk_set_rate clk_prepare clk_unprepare clk_set_min_rate "
        "clk_set_parent clk_disable_unused",
        "clk_set_rate clk_core_set_rate_nolock clk_change_rate clk_core_prepare "
        "clk_core_unprepare clk_prepare clk_unprepare clk_set_parent "
        "clk_core_set_parent_nolock",
        "it changes a clock, under the lock of all clocks",
        "drivers/clk/clk.c clk_prepare_lock(): the driver's set_rate() and prepare() "
        "run under prepare_lock",
    ),
    (
        "i_rwsem of a folder of configfs",
        "configfs_dir_open configfs_dir_close configfs_readdir configfs_dir_lseek",
        "configfs_rmdir configfs_mkdir configfs_unlink configfs_symlink",
        "it makes or removes an entry of configfs, with the folder's lock",
        "fs/configfs/dir.c configfs_dir_open() takes the folder's i_rwsem, which "
        "fs/namei.c vfs_rmdir() holds around configfs_rmdir()",
    ),
)
_SOCKET = perhaps(
    "it sends on a socket, or closes it, with the socket locked",
    "include/net/sock.h lock_sock(): until release_sock(); net/ipv4/tcp.c "
    "tcp_sendmsg() and __tcp_close() run under it, but for their waits in "
    "sk_wait_event(), which let go",
    names("tcp_sendmsg_locked tcp_sendpage_locked __tcp_close tcp_disconnect"),
    lock="a socket that another task has locked (lock_sock)",
    caller=names("lock_sock_nested __lock_sock lock_sock lock_sock_fast"),
    not_shows=names(
        "sk_stream_wait_* sk_wait_data wait_woken lock_sock_nested __lock_sock "
        "inet_csk_accept"
    ),
    stacked=True,
)
_RULES = (_SOCKET, *(of_row(*row, stacked=True) for row in _ROWS))
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.OTHER: _RULES,
    c.FS_LOCK: _RULES,
    c.INODE_LOCK: _RULES,
}
