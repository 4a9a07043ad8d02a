# SPDX-License-Identifier: GPL-2.0-only
"""events: rules for waits for single events of the kernel that are no lock."""

from __future__ import annotations

from writestall.classify import named_waits as w
from writestall.classify.rules.form import LOCK, TIMER, Rule
from writestall_base import wait_classes as c

_LONE: tuple[tuple[str, w.NamedWait, str, str], ...] = (
    (
        c.OTHER,
        w.USERFAULT,
        "handle_userfault userfaultfd_event_wait_completion",
        "fs/userfaultfd.c handle_userfault(): until the program has copied the page in",
    ),
    (
        c.OTHER,
        w.OTHER_THREADS,
        "de_thread",
        "fs/exec.c de_thread(): until zap_other_threads() has ended them",
    ),
    (
        c.OTHER,
        w.LISTENER,
        "fanotify_handle_event fanotify_get_response",
        "fs/notify/fanotify/fanotify.c fanotify_get_response(): until it has written",
    ),
    (
        c.OTHER,
        w.GSSD,
        "gss_cred_init gss_create_upcall",
        "net/sunrpc/auth_gss/auth_gss.c gss_cred_init(): until rpc.gssd has answered",
    ),
    (
        c.OTHER,
        w.SERVER_COPY,
        "handle_async_copy",
        "fs/nfs/nfs42proc.c handle_async_copy(): until the server calls back",
    ),
    (
        c.OTHER,
        w.RING_ENDS,
        "io_uring_cancel_files __io_uring_task_cancel io_uring_cancel_generic "
        "io_uring_cancel_sqpoll io_worker_exit io_rsrc_ref_quiesce",
        "io_uring/cancel.c io_uring_cancel_generic(): until none is inflight",
    ),
    (
        c.OTHER,
        w.SCRUBS,
        "scrub_add_page_to_rd_bio scrub_add_sector_to_rd_bio flush_scrub_stripes",
        "fs/btrfs/scrub.c flush_scrub_stripes(): until each stripe is read and "
        "written; scrub_add_page_to_rd_bio() before 6.4: until a bio is free",
    ),
    (
        c.OTHER,
        w.NFSD_ENDS,
        "nfsd_destroy_serv svc_set_num_threads svc_stop_kthreads",
        "net/sunrpc/svc.c svc_stop_kthreads(): until each has left svc_recv()",
    ),
    (
        c.RAID_OR_DM,
        w.BCACHE_JOURNAL,
        "bch_journal bch_journal_meta journal_wait_for_write",
        "drivers/md/bcache/journal.c journal_wait_for_write(): until an entry is free "
        "and written; bch_journal_meta()",
    ),
    (
        c.OTHER,
        w.CORE_DUMP,
        "exit_mm coredump_task_exit",
        "kernel/exit.c coredump_task_exit() (exit_mm() before 5.16): until "
        "fs/coredump.c coredump_finish()",
    ),
    (
        c.OTHER,
        w.AUTOMOUNT,
        "autofs_wait autofs4_wait autofs_expire_wait autofs4_expire_wait",
        "fs/autofs/waitq.c autofs_wait(): until the daemon has answered",
    ),
    (
        c.OTHER,
        w.HANDLERS,
        "__synchronize_irq synchronize_irq synchronize_hardirq",
        "kernel/irq/manage.c __synchronize_irq(): until no thread of it is active",
    ),
    (
        c.OTHER,
        w.GRACE_PERIOD,
        "percpu_ref_switch_to_atomic_sync",
        "lib/percpu-refcount.c percpu_ref_switch_to_atomic_sync(): until call_rcu() "
        "has run the switch",
    ),
    (
        c.OTHER,
        w.NEW_THREAD,
        "kthread_create_on_node __kthread_create_on_node kthread_create_on_cpu "
        "kthread_create_worker kthread_create_worker_on_node",
        "kernel/kthread.c __kthread_create_on_node(): until kthreadd() has run "
        "create_kthread()",
    ),
    (
        c.OTHER,
        w.SCANS,
        "do_scan_async scsi_finish_async_scan scsi_complete_async_scans",
        "drivers/scsi/scsi_scan.c scsi_finish_async_scan(): hosts are shown in the "
        "order of their scans, each after the one before",
    ),
    (
        c.OTHER,
        w.TARGET_COMMAND,
        "target_put_cmd_and_wait __transport_wait_for_tasks "
        "transport_generic_free_cmd target_wait_for_*cmds transport_clear_lun_ref",
        "drivers/target/target_core_transport.c target_put_cmd_and_wait(), "
        "transport_clear_lun_ref(): until the disk has ended them",
    ),
    (
        c.OTHER,
        w.SPLITS_BLOCK,
        "xfs_btree_split",
        "fs/xfs/libxfs/xfs_btree.c xfs_btree_split(): queues "
        "xfs_btree_split_worker(), which has more room on its stack",
    ),
    (
        c.OTHER,
        w.AIL_RESTS,
        "xfsaild",
        "fs/xfs/xfs_trans_ail.c xfsaild(): after each round, longer where items are "
        "pinned, locked or under way",
    ),
    (
        c.FS_TRANSACTION,
        w.TREE_LOG,
        "btrfs_sync_log wait_log_commit wait_for_writer",
        "fs/btrfs/tree-log.c btrfs_sync_log(): until who writes the log has, and who "
        "changes it has left",
    ),
    (
        c.OTHER,
        w.DAX_PAGE,
        "ext4_wait_dax_page xfs_wait_dax_page fuse_wait_dax_page",
        "fs/xfs/xfs_inode.c xfs_wait_dax_page(): until its reference count is 1, as "
        "dax_layout_busy_page() found it higher",
    ),
    (
        c.PAGE_LOCK,
        w.DAX_ENTRY,
        "get_unlocked_entry wait_entry_unlocked",
        "fs/dax.c get_unlocked_entry(): until dax_unlock_entry()",
    ),
    (
        c.OTHER,
        w.HOLE,
        "shmem_falloc_wait",
        "mm/shmem.c shmem_fault(): until shmem_fallocate() has punched it",
    ),
    (
        c.RAID_OR_DM,
        w.SERIAL_WRITE,
        "wait_for_serialization",
        "drivers/md/raid1.c wait_for_serialization(): write-behind, until "
        "remove_serial()",
    ),
    (
        c.RAID_OR_DM,
        w.RESHAPES,
        "reshape_request",
        "drivers/md/raid5.c, raid10.c reshape_request(): until reshape_stripes is "
        "zero, and sb_flags",
    ),
)
_PAUSES = (
    (
        w.SWAP_RACE,
        ("do_swap_page", "__read_swap_cache_async"),
        "mm/memory.c do_swap_page(), mm/swap_state.c __read_swap_cache_async()",
    ),
    (
        w.NO_MEMORY,
        ("should_reclaim_retry", "__alloc_pages_may_oom", "__vmalloc_*"),
        "mm/page_alloc.c should_reclaim_retry(), mm/vmalloc.c __vmalloc_node_range()",
    ),
)
RULES: tuple[Rule, ...] = (
    Rule(
        c.RAID_OR_DM,
        ("__map_bio",),
        "drivers/md/dm.c __map_bio(): down() of swap_bios_semaphore, which "
        "clone_endio() raises as a bio of swap ends (since 5.12)",
        wait=(LOCK,),
        first=True,
        named=w.SWAP_BIOS,
    ),
    *(
        Rule(cls, tuple(names.split()), why, not_wait=(LOCK,), first=True, named=named)
        for cls, named, names, why in _LONE
    ),
    *(
        Rule(c.MEMORY, names, why, wait=(TIMER,), first=True, named=named)
        for named, names, why in _PAUSES
    ),
)
