# SPDX-License-Identifier: GPL-2.0-only
"""This test will classify stacks of less common file systems, devices and releases.

Each stack is the call chain of the kernel's own source, innermost first; none is
anybody's report. test_wait_classes.py has the stacks of the common ones.
"""

from __future__ import annotations

import pytest

from writestall.classify.frames import frame
from writestall.classify.rules.form import FS_MODULES, MODULES
from writestall.classify.stack import classify_frames, role_of

# Class, role by functions alone, call chain.
WAYS = [
    # /proc/PID/stack leaves out the lock's own functions: the innermost one took it.
    (
        "inode_lock",
        "writer",
        "ext4_buffered_write_iter ext4_file_write_iter vfs_write ksys_pwrite64",
    ),
    ("inode_lock", "other", "do_unlinkat __x64_sys_unlinkat do_syscall_64"),
    (
        "fs_lock",
        "writer",
        "ext4_map_blocks ext4_da_write_begin generic_perform_write vfs_write",
    ),
    (
        "device_io",
        "writer",
        "xfs_buf_iowait xfs_buf_submit xfs_buf_read_map xfs_iomap_write_direct "
        "iomap_dio_rw xfs_file_write_iter vfs_write",
    ),
    (
        "page_writeback",
        "writer",
        "nfs_lock_and_join_requests nfs_update_folio vfs_write",
    ),
    # A lock that another function takes on the way is not the inode's.
    (
        "other",
        "other",
        "schedule mutex_lock rtnl_lock dev_ioctl vfs_rename do_renameat2",
    ),
    # f_pos_lock: another thread is inside read() or write() on the same open file.
    (
        "inode_lock",
        "writer",
        "schedule __mutex_lock mutex_lock __fdget_pos ksys_write do_syscall_64",
    ),
    ("inode_lock", "other", "schedule down_read shmem_getattr vfs_getattr vfs_statx"),
    # mapping->invalidate_lock, which a read takes to bring pages in.
    (
        "fs_lock",
        "other",
        "schedule rwsem_down_read_slowpath down_read page_cache_ra_unbounded "
        "filemap_get_pages filemap_read vfs_read",
    ),
    # A frozen file system: s_writers, whose function is mostly inlined.
    (
        "fs_lock",
        "writer",
        "schedule percpu_rwsem_wait __percpu_down_read vfs_write ksys_write",
    ),
    ("fs_lock", "writer", "schedule percpu_rwsem_wait __percpu_down_read io_write"),
    ("fs_lock", "other", "schedule percpu_down_write freeze_super do_vfs_ioctl"),
    ("fs_lock", "writer", "schedule down_read super_lock iterate_supers ksys_sync"),
    ("other", "other", "schedule percpu_rwsem_wait __percpu_down_read cpus_read_lock"),
    # XFS: the log, what is pinned in it, room in it.
    (
        "log_space",
        "journal",
        "schedule io_schedule xfs_buf_wait_unpin __xfs_buf_submit xfsaild kthread",
    ),
    (
        "journal_commit_wait",
        "other",
        "schedule xlog_wait_on_iclog xfs_log_force xfs_buf_lock xfs_buf_get_map "
        "xfs_remove vfs_unlink do_unlinkat",
    ),
    (
        "log_space",
        "other",
        "schedule xlog_grant_log_space xfs_log_reserve xfs_trans_reserve xfs_create",
    ),
    ("log_space", "journal", "schedule _xfs_log_force xfs_log_force xfssyncd kthread"),
    (
        "page_writeback",
        "writer",
        "schedule wait_for_completion __flush_work xfs_flush_inodes "
        "xfs_file_buffered_write vfs_write",
    ),
    (
        "inode_lock",
        "writer",
        "__mutex_lock_slowpath mutex_lock xfs_rw_ilock xfs_file_aio_write_checks "
        "xfs_file_buffered_aio_write xfs_file_aio_write do_sync_write vfs_write",
    ),
    # f2fs: gc_lock and cp_rwsem.
    (
        "fs_transaction",
        "journal",
        "schedule rwsem_down_write_slowpath __checkpoint_and_complete_reqs "
        "issue_checkpoint_thread kthread",
    ),
    (
        "fs_transaction",
        "other",
        "schedule rwsem_down_read_slowpath down_read f2fs_create lookup_open",
    ),
    # Journals of others.
    (
        "journal_transaction",
        "writeback",
        "schedule ext4_fc_start_update ext4_writepages do_writepages wb_workfn",
    ),
    ("journal_commit_wait", "other", "schedule jbd2_journal_destroy ext4_put_super"),
    (
        "fs_transaction",
        "writeback",
        "schedule queue_log_writer do_journal_begin_r journal_begin "
        "reiserfs_write_inode wb_workfn",
    ),
    ("device_io", "journal", "schedule nilfs_segbuf_wait nilfs_segctor_thread kthread"),
    (
        "device_io",
        "journal",
        "schedule bit_wait_io __wait_on_buffer gfs2_ail1_wait gfs2_logd kthread",
    ),
    # A cluster lock.
    (
        "fs_lock",
        "other",
        "schedule wait_for_completion __ocfs2_cluster_lock "
        "ocfs2_inode_lock_full_nested "
        "ocfs2_mknod vfs_mkdir do_mkdirat",
    ),
    ("fs_lock", "other", "schedule gfs2_glock_wait gfs2_glock_nq gfs2_permission"),
    # Pages.
    (
        "page_writeback",
        "other",
        "io_schedule folio_wait_bit_common folio_wait_private_2 nfs_release_folio "
        "invalidate_inode_pages2_range nfs_file_read vfs_read",
    ),
    ("page_writeback", "other", "bdi_sched_wait __wait_on_bit bdi_sync_writeback"),
    ("page_lock", "other", "io_schedule migration_entry_wait_on_locked do_swap_page"),
    (
        "page_writeback",
        "other",
        "schedule wb_wait_for_completion mem_cgroup_css_free css_free_rwork_fn "
        "process_one_work worker_thread",
    ),
    # Memory.
    (
        "memory",
        "other",
        "io_schedule folio_wait_bit_common migrate_pages compact_zone compact_node "
        "kcompactd kthread",
    ),
    (
        "memory",
        "other",
        "schedule_timeout congestion_wait shrink_inactive_list shrink_zone "
        "try_to_free_pages __alloc_pages_nodemask",
    ),
    # Queues and disks. A driver's lock is not I/O, and neither is work of a file system
    # before direct I/O.
    ("other", "other", "schedule mutex_lock revalidate_disk nvme_scan_work kthread"),
    (
        "other",
        "writer",
        "schedule wait_for_completion xfs_btree_split xfs_bmapi_allocate iomap_iter "
        "__iomap_dio_rw iomap_dio_rw xfs_file_write_iter vfs_write",
    ),
    ("device_io", "writer", "schedule __iomap_dio_rw iomap_dio_rw xfs_file_write_iter"),
    (
        "device_io",
        "journal",
        "schedule cv_wait_common __cv_wait zio_wait txg_sync_thread",
    ),
    (
        "block_queue",
        "other",
        "msleep blk_drain_queue blk_cleanup_queue scsi_remove_device",
    ),
    (
        "raid_or_dm",
        "other",
        "schedule rwsem_down_write_slowpath down_write bch_writeback_thread kthread",
    ),
    ("raid_or_dm", "writer", "schedule inc_ap_bio drbd_make_request vfs_write"),
    (
        "inode_lock",
        "other",
        "schedule mutex_lock __blockdev_direct_IO ext3_direct_IO generic_file_aio_read",
    ),
]


@pytest.mark.parametrize(("cls", "role", "stack"), WAYS)
def test_classes_of_stacks(cls: str, role: str, stack: str) -> None:
    """The class, and the role by functions alone."""
    frames = tuple(frame(symbol, None) for symbol in stack.split())
    assert classify_frames(frames).cls == cls
    assert role_of(frames, None) == role


@pytest.mark.parametrize(
    ("stack", "role"),
    [
        (
            "percpu_down_write md_attr_store sysfs_kf_write kernfs_fop_write_iter "
            "vfs_write",
            "other",
        ),
        (
            "schedule drop_slab drop_caches_sysctl_handler proc_sys_write vfs_write",
            "other",
        ),
        ("schedule fuse_lookup fuse_dev_do_write fuse_dev_write vfs_writev", "other"),
        ("schedule sync_filesystem generic_shutdown_super cleanup_mnt", "other"),
        (
            "io_schedule folio_wait_writeback nfs_wb_all nfs4_file_flush filp_flush",
            "writer",
        ),
        (
            "schedule xfs_dio_write_end_io iomap_dio_complete_work process_one_work",
            "writeback",
        ),
        (
            "io_schedule do_get_write_access ext4_convert_unwritten_extents "
            "ext4_iomap_end_io process_one_work",
            "writeback",
        ),
        (
            "schedule flush_space btrfs_reserve_bytes btrfs_buffered_write vfs_write",
            "writer",
        ),
        ("schedule wait_extent_bit async_cow_start btrfs_work_helper", "writeback"),
        ("schedule ext4_da_write_begin", "writer"),
        ("schedule __lock_page write_cache_pages zpl_writepages", "other"),
        ("schedule zfs_range_lock zpl_write_common_iovec", "writer"),
        (
            "schedule get_request writeback_sb_inodes wb_writeback",
            "writeback",
        ),
    ],
)
def test_roles_by_functions(stack: str, role: str) -> None:
    """An order to the kernel and the end of a mount are not writes to a file."""
    assert role_of([frame(symbol, None) for symbol in stack.split()], None) == role


@pytest.mark.parametrize(
    ("comm", "role"),
    [
        ("jbd2/dm-0-8", "journal"),
        ("xfs-cil/sda1", "journal"),
        ("kworker/3:1-xfs-sync/sda1", "journal"),
        ("kworker/xfs-cil/dm-0 xlog_cil_push_work [xfs]", "journal"),
        ("gfs2_logd/a:b", "journal"),
        ("segctord", "journal"),
        ("jfsCommit", "journal"),
        ("reiserfs/0", "journal"),
        ("flush-8:0", "writeback"),
        ("kworker/u8:1+flush-254:16", "writeback"),
        ("kworker/writeback wb_workfn (flush-8:0)", "writeback"),
        ("kworker/u4:2-btrfs-endio-write", "writeback"),
        ("kworker/events drm_fb_dirty_flush", "other"),
        ("bcache_writebac", "other"),
        ("md0_raid5", "other"),
        ("kswapd0", "other"),
    ],
)
def test_roles_by_name(comm: str, role: str) -> None:
    """Where no function decides, the name of a kernel thread or a work queue does."""
    assert role_of([frame("schedule", None)], comm) == role


@pytest.mark.parametrize("module", ["ubifs", "zfs", "ntfs3", "hfsplus"])
def test_a_lock_of_a_file_system_no_rule_knows(module: str) -> None:
    """A lock taken in a file system's module belongs to the file system; one in a
    driver does not."""
    names = ["schedule", "__mutex_lock", "mutex_lock"]
    lock = [frame(name, None) for name in names]
    for where, cls in ((module, "fs_lock"), ("mydrv", "other")):
        stack = [*lock, frame("some_function", where), frame("vfs_rename", None)]
        assert classify_frames(stack).cls == cls, where
    assert FS_MODULES < MODULES
