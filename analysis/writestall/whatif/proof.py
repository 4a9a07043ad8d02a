# SPDX-License-Identifier: GPL-2.0-only
"""proof: find the run that would show what a class of waiting costs.

Each row is a change to the scenario that removes the class, with the kernel source or
documentation that explains why. Some changes give up crash safety; they are for tests,
and the row says what else they change.
"""

from __future__ import annotations

from dataclasses import dataclass

from writestall_base import wait_classes as c


@dataclass(frozen=True, slots=True)
class Proof:
    """A change to the scenario (docs/scenario-format.md).

    `table` is the TOML table, `lines` go into it. Without lines the change is made by
    hand, as `also` says. `filesystems` are those that it is for; empty: all.
    """

    cls: str
    table: str
    lines: tuple[str, ...]
    why: str
    also: str = ""
    filesystems: tuple[str, ...] = ()


_EXT4 = ("ext4",)
_NO_JOURNAL = ('mkfs_options = ["-O", "^has_journal"]',)
_NO_FLUSHER = ('"vm.dirty_writeback_centisecs" = 0',)
_WITHOUT_HANDLE = (
    "fs/ext4/ext4_jbd2.c: without a journal no handle is valid, and ext4 does not "
    "call jbd2 at all"
)
_NOT_SAFE = "a crash then needs fsck"
_PERIODIC = (
    "Documentation/admin-guide/sysctl/vm.rst, dirty_writeback_centisecs: zero "
    "disables periodic writeback altogether"
)
_NO_SYNC = (
    "no fsync, and less dirty than vm.dirty_background_ratio, which still flushes; "
    "ext4's data=ordered forces data out before a commit, too (admin-guide/ext4.rst)"
)

PROOFS = (
    *(
        Proof(cls, "filesystem", _NO_JOURNAL, _WITHOUT_HANDLE, _NOT_SAFE, _EXT4)
        for cls in (c.JOURNAL_BUFFER, c.JOURNAL_TRANSACTION, c.JOURNAL_COMMIT_WAIT)
    ),
    Proof(
        c.JOURNAL_SPACE,
        "filesystem",
        ('mkfs_options = ["-J", "size=1024"]',),
        "fs/jbd2/checkpoint.c, __jbd2_log_wait_for_space(): waits while the log has "
        "too little space left",
        "the disk must hold a log of 1 GiB, and the run must not fill it",
        _EXT4,
    ),
    Proof(c.PAGE_LOCK, "sysctl", _NO_FLUSHER, _PERIODIC, _NO_SYNC),
    Proof(c.PAGE_WRITEBACK, "sysctl", _NO_FLUSHER, _PERIODIC, _NO_SYNC),
    Proof(
        c.DIRTY_THROTTLE,
        "sysctl",
        ('"vm.dirty_ratio" = 90', '"vm.dirty_background_ratio" = 80'),
        "Documentation/admin-guide/sysctl/vm.rst, dirty_ratio: the share of memory at "
        "which a writer itself starts writing out",
        "the run must dirty less than that",
    ),
    Proof(
        c.INODE_LOCK,
        "workload",
        ("writers = 1", "shared_file = false"),
        "mm/filemap.c, generic_file_write_iter(): a write holds its own inode's "
        "i_rwsem (inode_lock()); a single writer of a file never waits for it",
    ),
    Proof(
        c.LOG_SPACE,
        "filesystem",
        ('mkfs_options = ["-l", "size=512m"]',),
        "Documentation/filesystems/xfs/xfs-delayed-logging-design.rst, Log Space "
        "Accounting: the reserve head blocks when it reaches the log's tail",
        "the disk must hold such a log, and the run must not fill it",
        ("xfs",),
    ),
    Proof(
        c.FS_TRANSACTION,
        "filesystem",
        ('mount_options = ["checkpoint=disable"]',),
        "Documentation/filesystems/f2fs.rst, checkpoint: disable turns it off",
        "what was written is lost at unmount or a crash",
        ("f2fs",),
    ),
    Proof(
        c.FS_TRANSACTION,
        "filesystem",
        ('mount_options = ["commit=300"]',),
        "fs/btrfs/disk-io.c, transaction_kthread(): commits when the transaction is "
        "older than commit_interval; a run shorter than that sees none",
        "no fsync",
        ("btrfs",),
    ),
    Proof(
        c.DEVICE_IO,
        "inject",
        (),
        "kmod/README.md: without a rule no bio is delayed",
        "leave out every [[inject]] table; on a real disk, use a faster one",
    ),
    Proof(
        c.RAID_OR_DM,
        "filesystem",
        (),
        "a bio for a disk that is no array or mapping goes to its driver "
        "(block/blk-core.c, submit_bio_noacct())",
        "the same file system on a plain disk",
    ),
    Proof(
        c.BLOCK_QUEUE,
        "filesystem",
        (),
        "Documentation/ABI/stable/sysfs-block, nr_requests and wbt_lat_usec: how many "
        "requests a queue holds, and write-back throttling, which 0 turns off",
        "echo 0 > /sys/block/DISK/queue/wbt_lat_usec; raise nr_requests",
    ),
    Proof(
        c.MEMORY,
        "kernel",
        (),
        "Documentation/admin-guide/mm/concepts.rst, Reclaim: direct reclaim begins "
        "when free memory is short",
        "the same run in a machine with more memory",
    ),
    Proof(
        c.MEMORY,
        "memory",
        ("limit_bytes = 1_073_741_824",),
        "mm/memcontrol.c, try_charge_memcg(): who takes memory of a cgroup reclaims "
        "once its limit is reached",
        "where the scenario has a limit, and no other process needs the memory",
        ("tmpfs",),
    ),
    Proof(
        c.RUNQUEUE,
        "kernel",
        (),
        "Documentation/accounting/delay-accounting.rst: a runnable task waits for a "
        "CPU while others have it",
        "the same run with more CPUs, or fewer tasks",
    ),
)


def proofs(cls: str, filesystem: str | None) -> list[Proof]:
    """The rows for a class and a file system; for all of them if it is unknown."""
    return [
        row
        for row in PROOFS
        if row.cls == cls
        and (not row.filesystems or filesystem is None or filesystem in row.filesystems)
    ]
