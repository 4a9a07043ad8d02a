# SPDX-License-Identifier: GPL-2.0-only
"""form: the form of the rules that classify a stack by its functions.

A stack is read from the innermost frame outwards; the first frame that a rule names,
and for which its conditions hold, decides (stack.py). A rule's conditions:

- `wait`: one of these kinds of sleep is this frame or further in (SLEEPS below):
  `down_write` under `ext4_map_blocks` is a lock, `io_schedule` under it is a read;
- `not_wait`: none of these is;
- `callers`: one of these functions is further out;
- `by`: the next function further out is one of these: the caller of a function that
  only takes a lock shows which lock it is;
- `not_callers`: none of them is;
- `first`: no other function is between the sleep and this frame, so the lock was
  taken here;
- `bare`: holds also if the stack has no sleep function and this frame is the innermost.
  /proc/PID/stack is such a stack (kernel/stacktrace.c omits .sched.text), and these
  functions sleep only as `wait` says;
- `seen`: does not hold for such a stack, for its functions sleep in many ways.

Names are kernel functions without compiler suffixes; `*` matches any text, `[234]` one
of these digits. The tables have old and new names, for stacks of 2.6.32 to 7.x. `why`
names the file (and function, release or commit) of the kernel that makes the rule true;
without a release it holds for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall.classify.named_waits import NamedWait


def names(text: str) -> tuple[str, ...]:
    """The names of a longer list, with spaces between them."""
    return tuple(text.split())


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a table; `answer` is a class (wait_classes.py), for roles a role.

    `named` says what a task waits for where the class alone says too little.
    """

    answer: str
    names: tuple[str, ...]
    why: str
    wait: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    not_callers: tuple[str, ...] = ()
    not_wait: tuple[str, ...] = ()
    first: bool = False
    bare: bool = False
    seen: bool = False
    named: NamedWait | None = None


# Modules whose functions the rules know; frames of other modules are unknown. The first
# are file systems: a lock that their functions take is the file system's.
FS_MODULES = frozenset(
    """
    ext2 ext3 ext4 jbd jbd2 ldiskfs mbcache fscrypto xfs btrfs f2fs nilfs2 jfs reiserfs
    udf isofs fat vfat msdos exfat ntfs ntfs3 hfs hfsplus ubifs jffs2 minix ufs sysv nfs
    nfsv2 nfsv3 nfsv4 nfs_layout_nfsv41_files netfs fscache cachefiles fuse virtiofs
    overlay ecryptfs orangefs ceph cifs smb3 9p afs kafs coda gfs2 dlm ocfs2 ocfs2_dlm
    ocfs2_dlmfs ocfs2_nodemanager ocfs2_stackglue ocfs2_stack_o2cb ocfs2_stack_user
    erofs squashfs zfs vxfs bcachefs lustre quota_v1 quota_v2 quota_tree
    """.split()
)
MODULES = FS_MODULES | frozenset(
    """
    nfsd sunrpc lockd libceph rbd ksmbd 9pnet spl md_mod md_cluster raid0 raid1 raid10
    raid456 raid5 raid6 linear multipath faulty dm_mod dm_crypt dm_thin_pool
    dm_persistent_data dm_bufio dm_snapshot dm_mirror dm_region_hash dm_log dm_raid
    dm_cache dm_cache_smq dm_clone dm_era dm_delay dm_writecache dm_integrity dm_verity
    dm_zoned dm_multipath dm_round_robin dm_log_writes dm_log_userspace dm_bio_prison
    dm_unstripe dm_switch dm_flakey dm_vdo kvdo bcache drbd loop nbd rnbd_client zram
    aoe virtio_blk virtio_scsi virtio_ring virtio scsi_mod sd_mod sr_mod libata nvme
    nvme_core nvme_fabrics nvme_tcp nvme_rdma nvme_fc null_blk xen_blkfront mmc_core
    mmc_block usbcore usb_storage uas bfq ublk_drv target_core_mod iscsi_target_mod
    ptlrpc obdclass mdc lov lmv osc mgc lnet
    """.split()
)

# Functions that a task sleeps in, by the kind of sleep.
LOCK, PAGE, BUFFER, IO, TIMER, EVENT = "lock page buffer io timer event".split()
SLEEPS: dict[str, tuple[str, ...]] = {
    # kernel/locking/rwsem.c, mutex.c, semaphore.c, percpu-rwsem.c; lib/rwsem.c and
    # arch call_rwsem_* before 5.2; kernel/mutex.c and semaphore.c before 3.10;
    # fs/bcachefs/six.c.
    LOCK: names(
        "rwsem_* call_rwsem_* __rwsem_* down_read* down_write* __down_read* "
        "__down_write* down __down __down_common ___down_common down_killable "
        "down_interruptible down_timeout __down_timeout mutex_lock* __mutex_lock* "
        "ww_mutex_lock* __ww_mutex_lock* rt_mutex_* __rt_mutex_* rtlock_* "
        "rt_spin_lock* rt_read_lock* rt_write_lock* rwbase_* percpu_rwsem_wait "
        "six_lock_* __six_lock_* percpu_down_* __percpu_down_read*"
    ),
    # mm/filemap.c: page locks and PG_writeback share one wait. sync_page is the action
    # of a page's bit wait before 2.6.39 (commit 7eaceaccab5f).
    PAGE: names(
        "folio_wait_bit* wait_on_page_bit* __lock_page* __folio_lock* sleep_on_page* "
        "sync_page* folio_put_wait_locked put_and_wait_on_page_locked "
        "softleaf_entry_wait_on_locked migration_entry_wait*"
    ),
    # fs/buffer.c: BH_Lock, held for the time of a buffer's I/O. sync_buffer and
    # sleep_on_buffer are the actions of its bit wait before 3.17.
    BUFFER: ("__wait_on_buffer", "__lock_buffer", "sleep_on_buffer", "sync_buffer"),
    # kernel/sched/core.c: a sleep that counts as iowait; bit_wait_io since 3.17.
    IO: ("io_schedule*", "bit_wait_io*"),
    TIMER: ("schedule_timeout*", "schedule_hrtimeout*", "msleep*", "usleep_range*"),
    # kernel/sched/completion.c; lib/closure.c (bcache, bcachefs); condition variables,
    # OpenZFS module/os/linux/spl/spl-condvar.c.
    EVENT: names(
        "wait_for_completion* wait_for_common* __wait_for_common do_wait_for_common "
        "__closure_sync* closure_sync* cv_wait_* cv_timedwait* __cv_wait* "
        "__cv_timedwait*"
    ),
}

# Callers that several rules name.
FSYNC = names(
    "do_fsync vfs_fsync* *_file_fsync *_dir_fsync *_sync_file *_sync_fs "
    "sync_filesystem* generic_write_sync *_commit_metadata"
)
# Work functions of kernel threads.
WORK = names(
    "process_one_work worker_thread rescuer_thread xfsaild xfssyncd pdflush "
    "bdi_sync_supers bdi_writeback_*"
)
# Readers: a page that they find locked is under read I/O (mm/filemap.c, filemap_read();
# fs/btrfs/extent_io.c, read_extent_buffer_pages()).
READS = names(
    "do_generic_file_read generic_file_read_iter generic_file_aio_read "
    "generic_file_buffered_read filemap_read filemap_fault read_cache_* "
    "do_read_cache_* wait_on_page_read read_extent_buffer_pages*"
)
WRITEBACK_WAITS = names(
    "folio_wait_writeback* wait_on_page_writeback* folio_wait_stable "
    "wait_for_stable_page folio_wait_private_2* folio_wait_fscache* "
    "wait_on_page_private_2* wait_on_page_fscache* *wait_on_page_writeback* "
    "__filemap_fdatawait_range filemap_fdatawait*"
)
