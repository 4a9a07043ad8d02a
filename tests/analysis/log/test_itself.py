# SPDX-License-Identifier: GPL-2.0-only
"""This test will find tasks that wait for themselves, readers behind a writer that
waits, holders that let go, and stacks that mails and searches cut."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, joined
from writestall.log.headline import sentence
from writestall.log.links import POSSIBLE

LINKED = (
    (
        "schedule wait_for_completion kthread_stop free_irq irq_thread kthread",
        "schedule mutex_lock pci_lock_rescan_remove pciehp_ist irq_thread kthread",
    ),
    (
        "schedule mutex_lock __device_driver_lock device_release_driver_internal",
        "schedule down_write pciehp_reset_slot pci_reset_hotplug_slot pci_slot_reset",
    ),
    (
        "schedule wait_for_completion kthread_stop sugov_exit cpufreq_offline",
        "schedule __percpu_down_read exit_signals do_exit kthread",
    ),
    (
        "schedule mutex_lock cpuset_can_attach cgroup_migrate_execute",
        "schedule __percpu_down_read cpus_read_lock rebuild_sched_domains_locked",
    ),
    (
        "schedule __percpu_down_read exit_signals do_exit kthread",
        "schedule mutex_lock cpuset_can_attach cgroup_migrate_execute",
    ),
    (
        "schedule mutex_lock report_resume pci_walk_bus pcie_do_recovery",
        "schedule down_write pci_device_add sriov_enable sriov_numvfs_store",
    ),
    (
        "schedule down_write pci_device_add sriov_enable sriov_numvfs_store",
        "schedule mutex_lock report_resume pci_walk_bus pcie_do_recovery",
    ),
    (
        "schedule wait_for_completion tcm_loop_issue_tmr scmd_eh_abort_handler",
        "schedule wait_for_completion target_put_cmd_and_wait core_tmr_abort_task",
    ),
    (
        "schedule __transport_wait_for_tasks transport_generic_free_cmd",
        "schedule wait_for_completion target_put_cmd_and_wait core_tmr_abort_task",
    ),
)
ITSELF = {
    "nvme": "schedule __mutex_lock nvme_ns_remove/nvme_core "
    "nvme_remove_invalid_namespaces/nvme_core nvme_user_cmd/nvme_core nvme_dev_ioctl",
    "fiemap": "schedule lock_extent_bits/btrfs btrfs_page_mkwrite/btrfs "
    "handle_mm_fault do_user_addr_fault fiemap_fill_next_extent extent_fiemap/btrfs",
    "frozen": "schedule __bio_queue_enter submit_bio_noacct blkdev_direct_IO "
    "elevator_switch elv_iosched_store",
    "gendisk": "schedule __mutex_lock del_gendisk nvme_mpath_remove_disk/nvme_core "
    "__blkdev_put blkdev_put blkdev_close __fput",
    "raid5": "schedule raid5_quiesce/raid456 mddev_suspend/md_mod "
    "check_reshape/raid456 md_check_recovery/md_mod raid5d/raid456 md_thread/md_mod",
    "chunk": "schedule btrfs_tree_lock/btrfs btrfs_lock_root_node/btrfs "
    "btrfs_search_slot/btrfs btrfs_create_pending_block_groups/btrfs "
    "do_chunk_alloc/btrfs btrfs_alloc_tree_block/btrfs btrfs_cow_block/btrfs "
    "btrfs_search_slot/btrfs btrfs_commit_transaction/btrfs",
    "inodegc": "schedule_timeout wait_for_completion __flush_work "
    "xfs_inode_mark_reclaimable/xfs destroy_inode super_cache_scan shrink_slab "
    "do_try_to_free_pages xfs_trans_alloc/xfs xfs_inodegc_worker/xfs process_one_work",
    "work": "schedule_timeout wait_for_completion __flush_work xfs_stop_block_reaping/"
    "xfs xfs_eofblocks_worker/xfs process_one_work worker_thread kthread",
}


@pytest.mark.parametrize("name", ITSELF)
def test_who_shows_that_it_has_it(name: str) -> None:
    """Alone, and where another waits for it."""
    one = Shown(name, 1, ITSELF[name])
    assert joined(one)[name] == (name, POSSIBLE)
    text = sentence(explained(one.report()), "log")
    assert "and may be itself who has to end that" in text


def test_who_shows_nothing_of_it_has_it_not() -> None:
    plain = "schedule __mutex_lock nvme_ns_remove/nvme_core nvme_remove_namespaces"
    assert not joined(Shown("nvme", 1, plain))


def test_readers_queue_behind_a_writer_that_waits() -> None:
    """The writer waits for readers before it; others wait for the writer."""
    fault = "schedule rwsem_down_read_slowpath down_read do_user_addr_fault"
    maps = "schedule rwsem_down_write_slowpath down_write_killable vm_mmap_pgoff"
    reads = "io_schedule folio_wait_bit_common filemap_fault handle_mm_fault"
    reader, writer = Shown("reader", 1, fault), Shown("writer", 2, maps)
    assert joined(reader, writer)["reader"] == ("writer", POSSIBLE)
    assert joined(reader, Shown("writer", 2, reads))["reader"][0] == "writer"


def test_a_holder_that_waits_for_another_thing_later_has_let_go() -> None:
    """The waiter is stuck in both reports, the holder in the first alone."""
    waits = Shown("fsync", 1, "schedule __mutex_lock nvme_scan_work process_one_work")
    held = Shown("nvme", 2, ITSELF["nvme"])
    other = Shown("nvme", 2, "io_schedule blk_mq_get_tag submit_bio")
    assert joined(waits, held)["fsync"][0] == "nvme"
    assert "fsync" not in joined(waits, held, waits, other)


def test_an_allocation_that_leaks_is_no_sleep() -> None:
    text = [
        "unreferenced object 0xffff888016719108 (size 432):",
        '  comm "mount", pid 529, jiffies 4294706839 (age 144.463s)',
        "  backtrace:",
        "    [<ffffffff8230c68f>] xfs_buf_lock+0x18f/0x1d0 [xfs]",
        "    [<ffffffff8230c690>] xfs_read_agi+0x18f/0x1d0 [xfs]",
    ]
    assert not explained(text).tasks


def test_dependencies_that_a_tracker_prints_are_no_sleeps() -> None:
    text = [
        "[    6.8] DEPT: Circular dependency has been detected.",
        "[    6.8] context A",
    ]
    for what in ("[W] mutex_lock(&one:0):", "[E] mutex_unlock(&two:0):"):
        text += [
            f"[    6.8] {what}",
            "[    6.8] [<ffffffff8133cd87>] ext4_map+0xa7/0x5e0",
        ]
        text += ["[    6.8] stacktrace:", "[    6.8]       mutex_lock+0x57/0xd0"]
        text += ["[    6.8]       ext4_map_blocks+0xa7/0x5e0"]
    assert not explained(text).tasks


def test_what_chose_to_wait_begins_a_stack_where_it_stands_again() -> None:
    """Who searched a log for a word has the lines of two tasks without their heads."""
    frames = ("wait_current_trans", "start_transaction", "btrfs_create")
    text = [f" {name}+0x10/0x90 [btrfs]" for name in (*frames, *frames)]
    head = Shown("cleaner", 1, "").lines()[:1]
    assert [len(task.frames) for task in explained(head, text).tasks] == [3, 3]


def test_a_stack_of_arm64_where_blank_lines_were_added() -> None:
    names = "__switch_to __schedule schedule rtnl_lock linkwatch_event".split()
    text = ["INFO: task a:1 blocked for more than 120 seconds.", "Call trace:"]
    for name in names:
        text += [f" {name}+0x10/0x90", "", ""]
    (task,) = explained(text).tasks
    assert task.caller == "rtnl_lock"
    text = [line for part in text for line in (part, "")]
    (task,) = explained(text).tasks
    assert task.caller == "rtnl_lock"


def test_an_answer_in_the_midst_of_a_stack_may_quote_frames() -> None:
    """The rest goes on as deep as the begin, behind what was answered."""
    frames = "schedule down_write f2fs_write_single_data_page".split()
    rest = "f2fs_write_cache_pages do_writepages wb_workfn".split()
    text = [
        *(f">> {line}" for line in Shown("flush", 1, " ".join(frames)).report()[:-1]),
        *(f"> I doubt it, {word}." for word in ("this", "that", "both", "either")),
        "> [  430.67] down_write+0x1/0x9",
        "> [  430.67] f2fs_write_single_data_page+0x1/0x9",
        *("So let me see.", "It is.", "Or not.", "Can you try?"),
        *(f">>  {name}+0x10/0x90" for name in rest),
    ]
    tasks = {task.name: task for task in explained(text).tasks}
    assert [frame.symbol for frame in tasks["flush/1"].frames] == [*frames, *rest]


def test_the_rest_of_a_stack_may_begin_within_its_sleep() -> None:
    text = [
        "> 1. this is stuck:",
        "> [<0>] __schedule+0x1/0x9",
        "> [<0>] schedule+0x1/0x9",
        "> [<0>] rwsem_down_read_slowpath+0x1/0x9",
        "Who has it?",
        "",
        "Thanks,",
        "",
        "> [<0>] __down_read+0x1/0x9",
        "> [<0>] __sb_start_write+0x1/0x9",
        "> [<0>] f2fs_evict_inode+0x1/0x9",
    ]
    (task,) = explained(text).tasks
    assert task.caller == "__sb_start_write"


@pytest.mark.parametrize(("waiter", "holder"), LINKED)
def test_who_ends_it(waiter: str, holder: str) -> None:
    links = joined(Shown("waiter", 1, waiter), Shown("holder", 2, holder))
    assert links["waiter"][0] == "holder"


def test_who_removes_a_file_drops_its_link_before_the_directory_changes() -> None:
    """So it has no AGF when it waits for the AGI; who renames may have one."""
    lock = "schedule down xfs_buf_lock/xfs "
    agf = lock + "xfs_read_agf/xfs xfs_alloc_read_agf/xfs xfs_free_extent/xfs"
    agi = lock + "xfs_read_agi/xfs xfs_iunlink/xfs "
    names = {"xfs_remove/xfs vfs_unlink": {}, "xfs_rename/xfs": {"a": ("b", POSSIBLE)}}
    for name, links in names.items():
        assert joined(Shown("a", 1, agf), Shown("b", 2, agi + name)) == links


def test_heads_of_logcat_that_a_mailer_cut() -> None:
    """A name of 15 characters leaves one space before its state."""
    when = "10-02 20:34:17.586  2461  2461 I Kernel  : [15159.873148] "
    text = [f"{when}sysrq: Show Blocked State"]
    for pid, comm in ((2085, "jbd2/xvda3-8   "), (4116, "HwBinder:2156_3")):
        text += [f"{when}{comm} D", f"0  {pid}      2 0x00000020", f"{when}Call trace:"]
        for name in ("__schedule", "schedule", "jbd2_log_wait_commit"):
            text += [f"{when}[<000000005e1d80e5>]", f"{name}+0x94/0xd8"]
    found = [task.name for task in explained(text).tasks]
    assert found == ["jbd2/xvda3-8/2085", "HwBinder:2156_3/4116"]
