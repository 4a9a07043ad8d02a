# SPDX-License-Identifier: GPL-2.0-only
"""This test will link who waits for PCI slots, RDMA and iSCSI connections, persistent
memory, folders of configfs, network devices and clocks with who has them."""

from __future__ import annotations

import pytest

from log_stacks import Shown, assert_linked, joined
from writestall.log.links import LIKELY, POSSIBLE

DONE = "schedule_timeout __wait_for_common wait_for_completion "
MUTEX = "schedule schedule_preempt_disabled __mutex_lock mutex_lock "
WRITE = "schedule rwsem_down_write_slowpath down_write "
WORK = " process_one_work worker_thread kthread"
THREAD = " kthread ret_from_fork"
TAG = "io_schedule blk_mq_get_tag blk_mq_submit_bio submit_bio_noacct "
IST = "pciehp_ist irq_thread_fn irq_thread kthread"
CLOSES = "iscsit_close_connection iscsit_take_action_for_connection_exit "
STACKS = {
    "unconfigures": MUTEX + "pci_lock_rescan_remove pciehp_unconfigure_device " + IST,
    "removes-device": DONE + "destroy_workqueue device_release_driver_internal "
    "pci_stop_bus_device pci_stop_and_remove_bus_device_locked remove_store",
    "resets-slot": WRITE + "pciehp_reset_slot pci_reset_hotplug_slot "
    "pci_slot_reset pci_bus_error_reset pcie_do_recovery" + WORK,
    "assigns-slot": MUTEX + "pci_dev_assign_slot pci_setup_device pci_scan_slot "
    "pciehp_configure_device pciehp_handle_presence_or_link_change " + IST,
    "waits-config": "schedule pci_wait_cfg pci_cfg_access_lock sriov_enable "
    "local_pci_probe work_for_cpu_fn" + WORK,
    "resets-function": MUTEX + "pci_reset_function reset_store dev_attr_store",
    "destroys-id": MUTEX + "rdma_destroy_id isert_connect_release isert_free_np "
    "iscsit_del_np configfs_write_file",
    "handles-event": MUTEX + "isert_cma_handler cma_cm_event_handler cma_ib_handler "
    "cm_process_work" + WORK,
    "logs-in": DONE + "iscsi_check_for_session_reinstatement iscsi_target_do_login "
    "iscsi_target_login_thread" + THREAD,
    "closes": DONE
    + "__ib_drain_sq isert_wait_conn "
    + CLOSES
    + "iscsi_target_tx_thread"
    + THREAD,
    "stops-receiver": DONE
    + "kthread_stop "
    + CLOSES
    + "iscsi_target_tx_thread"
    + THREAD,
    "receives": DONE + "target_put_cmd_and_wait core_tmr_lun_reset "
    "iscsit_execute_cmd iscsi_target_rx_thread" + THREAD,
    "waits-probe": "schedule wait_nvdimm_bus_probe_idle uuid_store "
    "kernfs_fop_write vfs_write",
    "probes": MUTEX + "nvdimm_namespace_common_probe nvdimm_bus_probe really_probe",
    "flushes-devices": MUTEX + "flush_namespaces device_for_each_child "
    "wait_probe_show dev_attr_show",
    "unbinds": DONE + "__synchronize_srcu kill_dax devres_release_all "
    "device_release_driver_internal unbind_store",
    "opens-folder": WRITE + "configfs_dir_open do_dentry_open vfs_open path_openat",
    "removes-folder": DONE + "iscsit_reset_np_thread config_item_put configfs_rmdir "
    "vfs_rmdir do_rmdir",
    "commits": "schedule jbd2_journal_wait_updates/jbd2 "
    "jbd2_journal_commit_transaction/jbd2 kjournald2/jbd2" + THREAD,
    "zeroes-table": "schedule_timeout io_schedule_timeout submit_bio_wait "
    "blkdev_issue_zeroout ext4_init_inode_table/ext4 ext4_lazyinit_thread/ext4"
    + THREAD,
    "sets-control": MUTEX + "control_store kernfs_fop_write vfs_write",
    "disconnects": "schedule __pm_runtime_barrier pm_runtime_barrier usb_disconnect "
    "usb_remove_hcd xhci_pci_remove pci_device_remove",
    "suspends": "schedule_timeout msleep napi_disable foo_suspend/foo "
    "usb_suspend_both __rpm_callback rpm_callback rpm_suspend pm_runtime_work" + WORK,
    "dumps-links": MUTEX + "__netlink_dump_start rtnetlink_rcv_msg netlink_rcv_skb",
    "asks-device": "schedule rpm_resume __pm_runtime_resume foo_get_wol/foo "
    "dev_ethtool dev_ioctl sock_ioctl",
    "sets-rate": MUTEX + "clk_prepare_lock clk_set_rate_range clk_set_min_rate "
    "commit_work" + WORK,
    "changes-rate": DONE + "mbox_send_message raspberrypi_fw_set_rate clk_change_rate "
    "clk_core_set_rate_nolock clk_set_rate od_dbs_update" + WORK,
    "reads-memory": MUTEX + "mm_access process_vm_rw_core process_vm_rw",
    "executes": "schedule flush_old_exec load_elf_binary search_binary_handler "
    "__do_execve_file",
    "reads-cpus": "schedule percpu_rwsem_wait __percpu_down_read cpus_read_lock "
    "vmstat_shepherd" + WORK,
    "starts-cpu": DONE + "__cpuhp_kick_ap cpuhp_kick_ap bringup_cpu "
    "cpuhp_invoke_callback _cpu_up do_cpu_up",
    "calls-probe": DONE + "__flush_work flush_work pci_call_probe pci_device_probe "
    "really_probe",
    "probes-device": DONE + "wait_func/foo foo_load/foo local_pci_probe "
    "local_pci_probe_callback" + WORK,
    "recovers-bus": MUTEX + "foo_unload/foo foo_pci_err_detected/foo "
    "zpci_event_attempt_error_recovery __zpci_event_error",
    "resets-after-error": MUTEX + "report_slot_reset pci_walk_bus pcie_do_recovery",
    "removes-driver": DONE + "foo_stop/foo foo_remove/foo __device_release_driver "
    "device_release_driver_internal unbind_store",
    "locks-socket": "schedule __lock_sock lock_sock_nested tcp_sock_set_cork "
    "foo_send/foo",
    "sends-data": "schedule_timeout io_schedule_timeout try_to_free_pages "
    "sk_page_frag_refill tcp_sendmsg_locked tcp_sendmsg sock_sendmsg",
    "waits-for-room": "schedule_timeout wait_woken sk_stream_wait_memory "
    "tcp_sendmsg_locked tcp_sendmsg sock_sendmsg",
    "joins-notifier": WRITE + "register_netdevice_notifier raw_init can_create",
    "removes-namespace": "schedule synchronize_rcu_expedited synchronize_net "
    "ops_exit_list cleanup_net" + WORK,
    "wrapped-flush": DONE + "__flush_work cancel_work_sync foobar_hub_remove",
    "wrapped-work": MUTEX + "__driver_attach foobar_hub_attach/foobar_usb_hub" + WORK,
    "resets-port": MUTEX + "fc_lport_reset/libfc fcoe_ctlr_recv_work/libfcoe" + WORK,
    "has-port": MUTEX + "fc_rport_recv_req/libfc fc_lport_recv_els_req/libfc "
    "fcoe_receive_work/fcoe" + WORK,
    "ticks": MUTEX + "fcoe_ctlr_timer_work/libfcoe" + WORK,
}


@pytest.mark.parametrize(
    ("waiter", "holder", "confidence"),
    [
        ("unconfigures", "removes-device", POSSIBLE),
        ("resets-slot", "assigns-slot", POSSIBLE),
        ("assigns-slot", "resets-slot", POSSIBLE),
        ("waits-config", "resets-function", POSSIBLE),
        ("destroys-id", "handles-event", POSSIBLE),
        ("handles-event", "destroys-id", POSSIBLE),
        ("logs-in", "closes", POSSIBLE),
        ("stops-receiver", "receives", POSSIBLE),
        ("waits-probe", "probes", POSSIBLE),
        ("flushes-devices", "unbinds", POSSIBLE),
        ("opens-folder", "removes-folder", POSSIBLE),
        ("commits", "zeroes-table", LIKELY),
        ("resets-port", "has-port", POSSIBLE),
        ("dumps-links", "asks-device", POSSIBLE),
        ("sets-control", "disconnects", POSSIBLE),
        ("disconnects", "suspends", POSSIBLE),
        ("sets-rate", "changes-rate", POSSIBLE),
        ("reads-memory", "executes", POSSIBLE),
        ("reads-cpus", "starts-cpu", POSSIBLE),
        ("calls-probe", "probes-device", POSSIBLE),
        ("waits-config", "recovers-bus", POSSIBLE),
        ("wrapped-flush", "wrapped-work", POSSIBLE),
        ("resets-after-error", "removes-driver", POSSIBLE),
        ("locks-socket", "sends-data", POSSIBLE),
        ("joins-notifier", "removes-namespace", POSSIBLE),
    ],
)
def test_who_has_it(waiter: str, holder: str, confidence: str) -> None:
    one, other = Shown(waiter, 11, STACKS[waiter]), Shown(holder, 12, STACKS[holder])
    assert_linked(one, other, confidence)


def test_who_waits_for_room_has_let_the_socket_go() -> None:
    """include/net/sock.h sk_wait_event() calls release_sock()."""
    tasks = (
        Shown(name, pid, STACKS[name])
        for pid, name in ((11, "locks-socket"), (12, "waits-for-room"))
    )
    assert "locks-socket" not in joined(*tasks)


def test_who_waits_for_another_modules_lock_need_not_have_this_ones() -> None:
    """drivers/scsi/fcoe/fcoe_ctlr.c fcoe_ctlr_recv_clr_vlink() releases ctlr_mutex
    before fc_lport_reset()."""
    tasks = (
        Shown(name, pid, STACKS[name])
        for pid, name in ((11, "ticks"), (12, "resets-port"))
    )
    assert "ticks" not in joined(*tasks)
