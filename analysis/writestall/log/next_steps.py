# SPDX-License-Identifier: GPL-2.0-only
"""next_steps: say what to do next about the root that a log's headline names.

One step each: the command that shows the next link, the file to read, or the known
remedy, with the manual or the part of the kernel's documentation that has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from writestall.classify.rules.block import (
    ARRAY_METADATA,
    ARRAY_SUSPENDED,
    AWAITS_HANDLER,
    BARRIER_RAISED,
    BITMAP_COUNTER,
    BLOCK_LOCK,
    CIPHER,
    CONNECTS,
    CPU_HOTPLUG,
    DIRECT_IO,
    FREE_STRIPE,
    FROZEN_QUEUE,
    GRACE_PERIOD,
    HANDLES_ERRORS,
    HELPER,
    RAISES_BARRIER,
    REMOVES_SCSI,
    RESHAPE,
    RPC_CLIENT,
    RUNTIME_PM,
    STOPS_SYNC,
    SUSPENDS_ARRAY,
    SUSPENDS_MAP,
    SYNC_IO,
    SYSFS_USERS,
    TABLE_USERS,
    THREAD_ENDS,
)
from writestall.classify.rules.events import (
    AIL_RESTS,
    AUTOMOUNT,
    BCACHE_JOURNAL,
    CORE_DUMP,
    DAX_ENTRY,
    DAX_PAGE,
    GSSD,
    HANDLERS,
    HOLE,
    LISTENER,
    NFSD_ENDS,
    NO_MEMORY,
    OTHER_THREADS,
    RESHAPES,
    RING_ENDS,
    SCANS,
    SCRUBS,
    SERIAL_WRITE,
    SERVER_COPY,
    SPLITS_BLOCK,
    SWAP_BIOS,
    SWAP_RACE,
    TARGET_COMMAND,
    TREE_LOG,
    USERFAULT,
)
from writestall.classify.rules.file_systems import (
    BUFFER_OF_XFS,
    DELAYED_DATA,
    DELAYED_IPUTS,
    ENCRYPTS,
    FREE_SPACE_OF_GROUP,
    FREES_CLUSTER,
    ILOCK_OF_XFS,
    INODES_OF_GROUP,
    KEPT_OUT,
    ORDERED_DATA,
    OWN_CHECKPOINT,
    OWN_RANGE,
    QGROUP_FLUSH,
    RANGE_OF_FILE,
    REPLACES,
    ROOM_IN_LOG,
    ROOM_IN_XFS_LOG,
    SCRUB_PAUSED,
    SPACE_OF_BTRFS,
    TREE_BLOCK,
    WRITES_SUPERS,
    WRITES_XFS_LOG,
)
from writestall.classify.rules.locks import (
    CLUSTER_LOCK,
    FREEZES,
    FROZEN,
    LOOKED_UP,
    MOUNTING,
    OPEN_FILE,
    READ_OR_FREED,
)
from writestall.classify.rules.pages import (
    BY_FLUSHER,
    EACH_CPU,
    INODE_WRITTEN,
    ITSELF,
    OF_A_POOL,
)
from writestall.classify.rules.servers import (
    LUSTRE_ANSWER,
    NFS_ANSWER,
    NFS_CALLBACK,
)
from writestall.log import asked
from writestall.log.holders.sections import (
    MUTEX,
    READ,
    SEMAPHORE,
    WORK,
    WRITE,
    sleep_kind,
)
from writestall.log.kernel_reports import Report
from writestall.log.links import LogAnswer, Stuck
from writestall_base import wait_classes as c


class Step(NamedTuple):
    """What to do, and which source has it."""

    text: str
    source: str


_ALL_STACKS = "echo w > /proc/sysrq-trigger"
_SYSRQ = "Documentation/admin-guide/sysrq.rst"
_STACK = "cat /proc/{pid}/stack"
# Functions named in a step.
_SHOWN = 4
_CGROUP = "Documentation/admin-guide/cgroup-v2.rst"

CLASSES: dict[str, Step] = {
    c.PAGE_LOCK: Step(
        f"see who writes or reads the file: {_ALL_STACKS}, twice, and look for a task "
        "of its file system in D; of a network's, whether the server answers",
        _SYSRQ,
    ),
    c.PAGE_WRITEBACK: Step(
        "see whether the disk below writes (iostat -x 1, errors in dmesg); for a "
        "network file system, whether its server answers",
        "iostat(1)",
    ),
    c.JOURNAL_BUFFER: Step(
        f"take the stack of the journal's thread, jbd2/DISK: {_ALL_STACKS}",
        "Documentation/filesystems/ext4/journal.rst",
    ),
    c.JOURNAL_TRANSACTION: Step(
        "find the handle that does not stop: cat /proc/fs/jbd2/*/info, and "
        f"{_ALL_STACKS} for a task below ext4_*() that sleeps elsewhere",
        "fs/jbd2/journal.c jbd2_seq_info_show()",
    ),
    c.JOURNAL_COMMIT_WAIT: Step(
        "take the stack of the thread that commits (jbd2/DISK, xfs-cil): "
        f"{_ALL_STACKS}",
        _SYSRQ,
    ),
    c.JOURNAL_SPACE: Step(
        "see whether the disk writes (iostat -x 1); a larger journal fills later: "
        "tune2fs -J size=",
        "tune2fs(8)",
    ),
    c.DIRTY_THROTTLE: Step(
        "compare Dirty and Writeback of /proc/meminfo with vm.dirty_bytes, and see "
        "whether the disk writes: iostat -x 1",
        "Documentation/admin-guide/sysctl/vm.rst",
    ),
    c.INODE_LOCK: Step(
        f"find the task inside the same file or directory: {_ALL_STACKS}",
        _SYSRQ,
    ),
    c.FS_LOCK: Step(
        f"find the task inside the same file system: {_ALL_STACKS}; a kernel with "
        "lockdep lists the owners: echo d > /proc/sysrq-trigger",
        _SYSRQ,
    ),
    c.LOG_SPACE: Step(
        "see whether the disk below the log writes (iostat -x 1), and what xfsaild "
        f"sleeps on: {_ALL_STACKS}",
        "Documentation/admin-guide/xfs.rst",
    ),
    c.FS_TRANSACTION: Step(
        "take the stack of the task that commits (btrfs-transaction, f2fs_ckpt, "
        f"txg_sync): {_ALL_STACKS}",
        _SYSRQ,
    ),
    c.BLOCK_QUEUE: Step(
        "see which requests do not end: cat /sys/block/*/inflight, and "
        "/sys/kernel/debug/block/DISK/hctx*/busy",
        "Documentation/block/stat.rst",
    ),
    c.DEVICE_IO: Step(
        "see whether the disk answers: dmesg for timeouts and resets, iostat -x 1, cat "
        "/sys/block/*/inflight, smartctl -a",
        "iostat(1)",
    ),
    c.RAID_OR_DM: Step(
        "see what the device does: cat /proc/mdstat, dmsetup status, dmsetup info (a "
        "suspended one: dmsetup resume)",
        "dmsetup(8)",
    ),
    c.MEMORY: Step(
        "see who uses the memory and whether swap writes: cat /proc/meminfo "
        "/proc/pressure/memory, and memory.events of the cgroup",
        "Documentation/accounting/psi.rst",
    ),
    c.OTHER: Step(
        f"take all stacks while it hangs: {_ALL_STACKS}, twice, 10 s apart",
        _SYSRQ,
    ),
}
_WORKS = Step(
    "find the worker of the work, by the Workqueue: line of its stack: echo t > "
    "/proc/sysrq-trigger",
    "Documentation/core-api/workqueue.rst",
)
_SCSI_ERRORS = Step(
    "look for the host's errors in dmesg (aborting, resetting, offlined), check cable, "
    "expander and drive: smartctl -a; a shorter way out: "
    "/sys/block/DISK/device/eh_timeout",
    "Documentation/scsi/scsi_eh.rst",
)
_SERVER = Step(
    "see whether the server answers, from another client too; the network between: "
    "ss -tni",
    "ss(8)",
)
_MD_RST = "Documentation/admin-guide/md.rst"
_ARRAY_IO = Step(
    "see which requests do not end: cat /sys/block/*/inflight for the array and its "
    "members, mdadm --detail for a failed one",
    _MD_RST,
)
_SYNC = Step(
    "see whether the sync goes on: cat /proc/mdstat, twice; take the stack of its "
    "thread, mdN_resync or mdN_reshape; echo frozen > /sys/block/mdN/md/sync_action "
    "stops it",
    _MD_RST,
)
_XFS_BUFFER = Step(
    "find the task that has the group in its transaction and sleeps, below "
    f"xfs_alloc_*(), xfs_bmapi_*(), xfs_ifree() or xfs_trans_commit(): {_ALL_STACKS}",
    "fs/xfs/xfs_trans_buf.c",
)
_CIPHER = Step(
    "see which driver encrypts (cat /proc/crypto) and look for its errors in dmesg; "
    "without the module of a hardware driver the CPU encrypts",
    "Documentation/filesystems/fscrypt.rst",
)
_REPLACE = Step(
    f"find the tasks that sleep with I/O of the file system under way: {_ALL_STACKS}; "
    "btrfs replace status",
    "btrfs-replace(8)",
)
_DAX = Step(
    "find who has the page: direct I/O or RDMA to a mapping of the file, below "
    f"dax_iomap_*() or get_user_pages*(): {_ALL_STACKS}",
    "fs/dax.c",
)
WORDS: dict[str, Step] = {
    DAX_ENTRY: _DAX,
    DAX_PAGE: _DAX,
    HOLE: Step(
        f"find the task inside shmem_fallocate(): {_ALL_STACKS}",
        _SYSRQ,
    ),
    NO_MEMORY: CLASSES[c.MEMORY],
    SWAP_RACE: CLASSES[c.MEMORY],
    OTHER_THREADS: Step(
        "take the stacks of the process's threads: cat /proc/{pid}/task/*/stack",
        "fs/exec.c de_thread()",
    ),
    BITMAP_COUNTER: Step(
        "see whether the writes under way end: cat /sys/block/mdN/inflight and "
        "/sys/block/mdN/md/stripe_cache_active, twice; mdadm --grow --bitmap=none "
        "does without the bitmap",
        "mdadm(8)",
    ),
    NFS_CALLBACK: Step(
        "find the client whose callback state is not UP: grep . "
        "/proc/fs/nfsd/clients/*/info; echo expire > /proc/fs/nfsd/clients/N/ctl "
        "gives it up",
        "fs/nfsd/nfs4state.c client_info_show(), client_ctl_write()",
    ),
    AIL_RESTS: Step(
        "see what keeps its items: trace-cmd record -e xfs:xfs_ail_pinned -e "
        "xfs:xfs_ail_locked -e xfs:xfs_ail_flushing; whether the disk writes: iostat "
        "-x 1",
        "fs/xfs/xfs_trace.h",
    ),
    SWAP_BIOS: Step(
        "see what the device that swap lies on waits for, such as kcryptd or a loop "
        f"device: {_ALL_STACKS}; swapoff it, or swap to a plain partition",
        "swapoff(8)",
    ),
    SCANS: Step(
        "find the host whose scan does not end: errors of drivers in dmesg, and a task "
        f"below scsi_scan_*(): {_ALL_STACKS}; scsi_mod.scan=sync shows the order",
        "Documentation/admin-guide/kernel-parameters.txt",
    ),
    SPLITS_BLOCK: Step(
        f"find the worker below xfs_btree_split_worker(): {_ALL_STACKS}, or echo t "
        "where it has not begun",
        "fs/xfs/libxfs/xfs_btree.c",
    ),
    TARGET_COMMAND: Step(
        "see whether the disk behind the LUN answers: iostat -x 1, errors in dmesg; "
        "targetcli ls names it",
        "targetcli(8)",
    ),
    TREE_LOG: Step(
        "find the task below btrfs_sync_log() or btrfs_log_inode() that sleeps "
        f"further in: {_ALL_STACKS}",
        "fs/btrfs/tree-log.c",
    ),
    GSSD: Step(
        "see whether rpc.gssd runs and answers: systemctl status rpc-gssd, klist",
        "rpc.gssd(8)",
    ),
    LISTENER: Step(
        "find the program, such as a virus scanner, and take its stacks: grep -l "
        "fanotify /proc/*/fdinfo/*, cat /proc/PID/task/*/stack",
        "fanotify(7)",
    ),
    SCRUBS: Step(
        "see whether the disks answer (iostat -x 1) and the scrub goes on: btrfs scrub "
        "status MOUNT; btrfs scrub cancel MOUNT ends it",
        "btrfs-scrub(8)",
    ),
    RING_ENDS: Step(
        f"find the worker iou-wrk-PID that sleeps in a request: {_ALL_STACKS}",
        "io_uring(7)",
    ),
    SERVER_COPY: _SERVER,
    NFSD_ENDS: Step(
        f"find the thread nfsd that sleeps in a request: {_ALL_STACKS}",
        "nfsd(8)",
    ),
    BCACHE_JOURNAL: Step(
        "see whether the cache device answers (iostat -x 1) and writes back: grep . "
        "/sys/fs/bcache/*/internal/*journal* /sys/block/bcache*/bcache/dirty_data",
        "Documentation/admin-guide/bcache.rst",
    ),
    CORE_DUMP: Step(
        "see where the core goes (cat /proc/sys/kernel/core_pattern), and take the "
        "stacks of the process: cat /proc/{pid}/task/*/stack",
        "core(5)",
    ),
    AUTOMOUNT: Step(
        "take the stacks of automount and of what it mounts: ps -e | grep mount, cat "
        "/proc/PID/stack; umount -l DIRECTORY gives up",
        "autofs(8)",
    ),
    HANDLERS: Step(
        "find the thread irq/N-NAME that sleeps in a handler: "
        f"{_ALL_STACKS}; cat /proc/interrupts",
        "kernel/irq/manage.c",
    ),
    RESHAPES: _SYNC,
    SERIAL_WRITE: _ARRAY_IO,
    USERFAULT: Step(
        "find the program that handles the faults (ls -l /proc/*/fd | grep "
        "userfaultfd) and take its stack: cat /proc/PID/task/*/stack",
        "Documentation/admin-guide/mm/userfaultfd.rst",
    ),
    ROOM_IN_XFS_LOG: CLASSES[c.LOG_SPACE],
    BARRIER_RAISED: _SYNC,
    STOPS_SYNC: _SYNC,
    RESHAPE: _SYNC,
    RAISES_BARRIER: _ARRAY_IO,
    SUSPENDS_ARRAY: _ARRAY_IO,
    ARRAY_METADATA: Step(
        "see whether the superblock can be written: mdadm --detail for a failed "
        "member, whether mdmon runs (external metadata), and the stack of the thread "
        "mdN_raidX: cat /proc/PID/stack",
        "mdmon(8)",
    ),
    FREEZES: Step(
        "find the task that writes and sleeps elsewhere, below vfs_write(), "
        f"mnt_want_write() or of an io_uring: {_ALL_STACKS}",
        "fs/super.c freeze_super(); fsfreeze(8)",
    ),
    BLOCK_LOCK: Step(
        f"find the task that is in the same function, or further below it: "
        f"{_ALL_STACKS}; a kernel with lockdep lists who holds what: echo d > "
        "/proc/sysrq-trigger",
        _SYSRQ,
    ),
    DELAYED_DATA: Step(
        "find the worker below btrfs_run_delalloc_work() that sleeps further in: "
        f"{_ALL_STACKS}",
        "fs/btrfs/inode.c start_delalloc_inodes()",
    ),
    DELAYED_IPUTS: Step(
        "take the stack of btrfs-cleaner and of who unmounts or flushes: "
        f"{_ALL_STACKS}",
        "fs/btrfs/inode.c btrfs_run_delayed_iputs()",
    ),
    WRITES_SUPERS: Step(
        "see whether the devices of the file system answer: iostat -x 1, errors in "
        "dmesg, btrfs device stats MOUNT",
        "fs/btrfs/disk-io.c write_all_supers(); btrfs-device(8)",
    ),
    QGROUP_FLUSH: Step(
        "see whether the flusher of the file system writes, and whether quotas need be "
        f"on: btrfs qgroup show MOUNT, {_ALL_STACKS}",
        "fs/btrfs/qgroup.c try_flush_qgroup()",
    ),
    CLUSTER_LOCK: Step(
        "see which node holds the lock, and whether all of them answer: dlm_tool "
        "lockdebug, dlm_tool status, the stack of mdN_cluster_rec on the others",
        "drivers/md/md-cluster.c; dlm_tool(8)",
    ),
    FREE_STRIPE: Step(
        "compare stripe_cache_active with stripe_cache_size in /sys/block/mdN/md; a "
        "larger stripe_cache_size lets it go on for now",
        _MD_RST,
    ),
    ARRAY_SUSPENDED: Step(
        "find who suspended it (mdadm, md_attr_store() or a resync): cat "
        f"/sys/block/mdN/md/suspend_lo suspend_hi sync_action, {_ALL_STACKS}",
        _MD_RST,
    ),
    SUSPENDS_MAP: Step(
        "see what is below it and does not end: dmsetup ls --tree, cat "
        "/sys/block/*/inflight; for a thin pool or mirror, dmsetup status",
        "dmsetup(8)",
    ),
    FREE_SPACE_OF_GROUP: _XFS_BUFFER,
    INODES_OF_GROUP: _XFS_BUFFER,
    BUFFER_OF_XFS: _XFS_BUFFER,
    ILOCK_OF_XFS: Step(
        "find the task that changes the same inode in a transaction: "
        f"{_ALL_STACKS} for one below xfs_*() that sleeps further in",
        "fs/xfs/xfs_inode.c",
    ),
    ENCRYPTS: _CIPHER,
    REPLACES: _REPLACE,
    KEPT_OUT: _REPLACE,
    OWN_CHECKPOINT: Step(
        "report it to the file system's maintainers: it drops the last reference to an "
        "inode (iput()) inside its checkpoint; only a reboot ends it",
        "Documentation/admin-guide/reporting-issues.rst",
    ),
    ITSELF: Step(
        "report it to the file system's maintainers: it drops the last reference to an "
        "inode (iput()) while it writes; only a reboot ends it",
        "Documentation/admin-guide/reporting-issues.rst",
    ),
    BY_FLUSHER: Step(
        "take the stack of the flusher, kworker/uN:N with flush-MAJOR:MINOR: "
        f"{_ALL_STACKS}; see whether the disk below writes: iostat -x 1",
        _SYSRQ,
    ),
    INODE_WRITTEN: Step(
        f"find the task below __writeback_single_inode() that sleeps: {_ALL_STACKS}",
        "fs/fs-writeback.c inode_wait_for_writeback()",
    ),
    OF_A_POOL: Step(
        "see which I/O does not end, above and below the device whose worker it is: "
        "cat /sys/block/*/inflight, dmsetup ls --tree",
        "Documentation/core-api/mm-api.rst",
    ),
    EACH_CPU: Step(
        "find the CPU whose workers do not run: a task of a real-time policy (ps -eLo "
        "cls,rtprio,psr,pcpu,comm), echo l > /proc/sysrq-trigger",
        "Documentation/core-api/workqueue.rst",
    ),
    REMOVES_SCSI: Step(
        "find who still has a device of it: fuser -v /dev/sd*, ls "
        f"/sys/block/sd*/holders, {_ALL_STACKS}",
        "Documentation/scsi/scsi_mid_low_api.rst",
    ),
    SYNC_IO: _ARRAY_IO,
    CIPHER: _CIPHER,
    CONNECTS: Step(
        "see whether the controller is reachable: nvme list-subsys, dmesg for its "
        "errors; give it up with nvme disconnect",
        "nvme-disconnect(1)",
    ),
    FROZEN_QUEUE: Step(
        "find who froze it: a task below blk_mq_freeze_queue*(), elevator_*() or "
        f"del_gendisk(): {_ALL_STACKS}",
        "block/blk-mq.c blk_mq_freeze_queue()",
    ),
    DIRECT_IO: Step(
        "find the direct I/O that does not end: the disk's (iostat -x 1, cat "
        f"/sys/block/*/inflight), or a work that ends it: {_ALL_STACKS}",
        "fs/inode.c inode_dio_wait()",
    ),
    RUNTIME_PM: Step(
        "see which device: cat /sys/devices/.../power/runtime_status; echo on > "
        "/sys/devices/.../power/control keeps it from suspending",
        "Documentation/power/runtime_pm.rst",
    ),
    FREES_CLUSTER: Step(
        "find the task that has one of the inodes and waits for their buffer, below "
        f"xfs_iflush*() or xfs_reclaim_inode(): {_ALL_STACKS}",
        "fs/xfs/xfs_inode.c xfs_ifree_cluster()",
    ),
    HELPER: Step(
        "find the program: ps -ef --ppid 2 with a path (/sbin/...), and take its "
        "stack: cat /proc/PID/stack",
        "kernel/umh.c",
    ),
    SCRUB_PAUSED: Step(
        f"take the stack of the task that commits: {_ALL_STACKS}; btrfs scrub cancel "
        "ends the scrub",
        "btrfs-scrub(8)",
    ),
    CPU_HOTPLUG: Step(
        "take the stack of that CPU's thread, cpuhp/N: cat /proc/$(pgrep "
        "cpuhp/N)/stack",
        "Documentation/core-api/cpu_hotplug.rst",
    ),
    RPC_CLIENT: Step(
        "see which requests the client has: cat "
        "/sys/kernel/debug/sunrpc/rpc_clnt/*/tasks; the network between: ss -tni",
        "ss(8)",
    ),
    THREAD_ENDS: Step(
        f"find the thread that does not end: {_ALL_STACKS}, a kernel thread in D",
        _SYSRQ,
    ),
    TABLE_USERS: Step(
        "find who is inside the device with the old table (dmsetup status, message, "
        f"I/O): {_ALL_STACKS}; dmsetup info -c",
        "dmsetup(8)",
    ),
    OWN_RANGE: Step(
        "it is a deadlock with itself: report it with this stack; a buffer that is no "
        "mapping of the same file avoids it",
        "Documentation/admin-guide/reporting-issues.rst",
    ),
    RANGE_OF_FILE: Step(
        "find who has the range: a task below btrfs_finish_ordered_io(), btrfs_clone() "
        f"or a direct I/O that sleeps further in: {_ALL_STACKS}",
        "fs/btrfs/extent-io-tree.c",
    ),
    TREE_BLOCK: Step(
        "find the task below btrfs_search_slot() that sleeps further in or runs: "
        f"{_ALL_STACKS}, echo l > /proc/sysrq-trigger",
        "fs/btrfs/locking.c",
    ),
    SYSFS_USERS: Step(
        f"find the task below kernfs_fop_*() that sleeps: {_ALL_STACKS}",
        "fs/kernfs/dir.c kernfs_drain()",
    ),
    GRACE_PERIOD: Step(
        "look for a CPU that does not leave the kernel: rcu stalls in dmesg, echo l > "
        "/proc/sysrq-trigger",
        "Documentation/RCU/stallwarn.rst",
    ),
    HANDLES_ERRORS: _SCSI_ERRORS,
    AWAITS_HANDLER: _SCSI_ERRORS,
    FROZEN: Step(
        "find who froze it (fsfreeze, a snapshot of LVM, a hypervisor's guest agent) "
        "and thaw it: fsfreeze -u MOUNTPOINT",
        "fsfreeze(8)",
    ),
    ROOM_IN_LOG: Step(
        f"take the stack of the thread that flushes the log (gfs2_logd): {_ALL_STACKS}",
        "fs/gfs2/log.c gfs2_logd()",
    ),
    MOUNTING: Step(
        f"find the mount or umount that does not end: {_ALL_STACKS} for a task below "
        "deactivate_locked_super() or vfs_get_tree()",
        "fs/super.c",
    ),
    LUSTRE_ANSWER: Step(
        "see which server does not answer: lfs check servers, lctl get_param "
        "osc.*.import mdc.*.import",
        "lfs-check(1)",
    ),
    NFS_ANSWER: Step(
        "see whether the server answers: nfsstat -rc, rpcinfo -t SERVER nfs; a mount "
        "that is hard waits for ever",
        "nfs(5)",
    ),
    "waits for the state manager of its NFS client": Step(
        "take the stack of the thread ADDRESS-manager: ps -e | grep manager, then cat "
        "/proc/PID/stack",
        "nfs(5)",
    ),
    "idles: the recovery of the NFS client's state does not run": Step(
        "report it to the NFS client's maintainers, with rpcdebug -m nfs -s state",
        "rpcdebug(8)",
    ),
    "waits for the answer of a FUSE server": Step(
        "take the stacks of the server's threads: cat /proc/PID/task/*/stack; as a "
        "last resort echo 1 > /sys/fs/fuse/connections/N/abort",
        "Documentation/filesystems/fuse.rst",
    ),
    "waits for the answer of an SMB server": Step(
        "see whether the server answers: cat /proc/fs/cifs/DebugData",
        "Documentation/admin-guide/cifs/usage.rst",
    ),
    "waits for the answer of a 9P server": _SERVER,
    "waits for the answer of a file server": _SERVER,
    "freezes a queue and waits until all requests of the disk have ended": Step(
        "see which requests do not end: cat /sys/kernel/debug/block/DISK/hctx*/busy",
        "block/blk-mq-debugfs.c",
    ),
    "resets an NVMe controller and waits until its requests have ended": Step(
        "look for the reset's cause in dmesg (timeout, controller is down) and in the "
        "drive's own log: nvme smart-log, nvme error-log",
        "nvme(1)",
    ),
    "resets a USB device": Step(
        "look for usb lines in dmesg, change cable, port or hub; power saving off: "
        "usbcore.autosuspend=-1",
        "Documentation/driver-api/usb/power-management.rst",
    ),
    "waits for a USB device": Step(
        "look for usb lines in dmesg and at the device's power; usb-storage.quirks=... "
        "turns UAS off",
        "Documentation/admin-guide/kernel-parameters.txt",
    ),
    "waits until a work that it flushes is done": _WORKS,
    "is throttled for the disk's other users (writeback throttling, wbt)": Step(
        "see whether the disk is slow (iostat -x 1); echo 0 > "
        "/sys/block/DISK/queue/wbt_lat_usec turns the throttling off",
        "Documentation/ABI/stable/sysfs-block",
    ),
    "is throttled to the share of its cgroup (io.weight)": Step(
        "compare io.weight, io.cost.qos and io.stat of the cgroups", _CGROUP
    ),
    "is throttled, for its cgroup keeps another from its io.latency": Step(
        "compare io.latency and io.stat of the cgroups", _CGROUP
    ),
    "is delayed for I/O done in the name of its cgroup": Step(
        "compare io.weight, io.latency and io.stat of its cgroup with others'", _CGROUP
    ),
    "is throttled by the io.max of its cgroup": Step(
        "read io.max and io.stat of its cgroup, and raise the limit", _CGROUP
    ),
    "is throttled by ZFS for dirtying data": Step(
        "see whether the pool writes (zpool iostat -l 1); zfs_dirty_data_max is its "
        "limit",
        "zfs(4)",
    ),
    "pauses before it tries again for the checkpoint's lock": Step(
        f"find the task in f2fs_write_checkpoint(): {_ALL_STACKS}",
        "Documentation/filesystems/f2fs.rst",
    ),
    "waits until all who joined its transaction have left": Step(
        "find the task that has joined and sleeps elsewhere below btrfs_*(): "
        f"{_ALL_STACKS}",
        "fs/btrfs/transaction.c btrfs_commit_transaction()",
    ),
    LOOKED_UP: Step(
        f"find the task inside *_lookup() or *_atomic_open() of the same directory: "
        f"{_ALL_STACKS}",
        "fs/dcache.c d_alloc_parallel()",
    ),
    OPEN_FILE: Step(
        "find the thread of the same process, or who shares the open file, inside "
        f"read(2), write(2) or getdents(2): {_ALL_STACKS}",
        "fs/file.c __fdget_pos()",
    ),
    READ_OR_FREED: Step(
        f"find the task inside evict() or *_iget(): {_ALL_STACKS}",
        "fs/inode.c __wait_on_freeing_inode()",
    ),
    ORDERED_DATA: Step(
        "see whether the disk writes (iostat -x 1), and find the task below "
        f"btrfs_finish_ordered_io() or *_cow_range() that sleeps: {_ALL_STACKS}",
        "fs/btrfs/ordered-data.c",
    ),
    WRITES_XFS_LOG: Step(
        "see whether the disk of the log writes: iostat -x 1, errors in dmesg; take "
        f"the stacks of kworkers below xlog_*(): {_ALL_STACKS}",
        "fs/xfs/xfs_log.c xlog_wait_on_iclog()",
    ),
    SPACE_OF_BTRFS: Step(
        "see whether metadata or data has run out (btrfs filesystem usage MOUNT), and "
        f"take the stack of the worker in btrfs_async_reclaim_*(): {_ALL_STACKS}",
        "fs/btrfs/space-info.c; btrfs-filesystem(8)",
    ),
    "waits for the lock of a process's memory map (mmap_lock)": Step(
        "take the stacks of that process's threads: cat /proc/PID/task/*/stack",
        "Documentation/filesystems/proc.rst",
    ),
    "waits until a node in /dev is made or removed": Step(
        "take the stack of kdevtmpfs: cat /proc/$(pgrep kdevtmpfs)/stack",
        "Documentation/filesystems/proc.rst",
    ),
    "waits until its io_uring requests are over": Step(
        "take the stacks of its workers, iou-wrk-PID: cat /proc/PID/task/*/stack",
        "io_uring(7)",
    ),
}
# Classes whose waits have names (asked.py).
_NAMED = (
    *(c.OTHER, c.FS_LOCK, c.FS_TRANSACTION, c.RAID_OR_DM),
    *(c.BLOCK_QUEUE, c.INODE_LOCK),
)
_LOCK = Step(
    "find the task that is in the same function or driver and sleeps further in: "
    f"{_ALL_STACKS}; echo d > /proc/sysrq-trigger lists the owners where the kernel "
    "has lockdep",
    _SYSRQ,
)
# By the kind of sleep, where nothing else is known.
_SLEEPS = {**dict.fromkeys((MUTEX, READ, WRITE, SEMAPHORE), _LOCK), WORK: _WORKS}
_GONE = Step(f"take its stack while it holds the lock: {_STACK}", _SYSRQ)
_RUNS = Step(
    "see what it runs: perf record -p {pid} -g -- sleep 5; a spinning kernel also "
    "shows with echo l > /proc/sysrq-trigger",
    "perf-record(1)",
)
_RESTS = Step("see what it waits for: strace -p {pid}, " + _STACK, "strace(1)")
_NO_STACK = Step(f"take the stacks while they hang: {_ALL_STACKS}, then dmesg", _SYSRQ)
_DEADLOCK = Step(
    "it is a deadlock of the kernel: report it with these stacks and "
    "scripts/decode_stacktrace.sh; only a reboot ends it",
    "Documentation/admin-guide/reporting-issues.rst",
)
_CIRCLE = Step(
    f"prove the circle: {_ALL_STACKS} 10 min later shows the same stacks, and "
    "CONFIG_PROVE_LOCKING names the locks",
    "Documentation/locking/lockdep-design.rst",
)


def of_task(stuck: Stuck) -> Step:
    """The step for a task that waits for no other, as far as the log shows."""
    task = stuck.task
    if stuck.owner:
        if not task.guesses:
            return _GONE
        return _RUNS if task.state in (None, "R") else _RESTS
    if not task.guesses:
        return _NO_STACK
    verdict = stuck.in_shrinker or stuck.in_reclaim or stuck.verdict
    rule = verdict.rule
    step = WORDS.get(rule.words) if rule else None
    if step is None:
        step = _inside(stuck)
    if step is None and verdict.cls == c.OTHER:
        step = _SLEEPS.get(sleep_kind(stuck))
    return step or CLASSES[verdict.cls]


def _inside(stuck: Stuck) -> Step | None:
    """Where to look for the holder of a lock with a name."""
    found = asked.holders(stuck) if stuck.verdict.cls in _NAMED else []
    if not found:
        return None
    shown = ", ".join(f"{name}()" for name in found[:_SHOWN])
    more = ", ..." if len(found) > _SHOWN else ""
    text = f"find the task inside {shown}{more}: {_ALL_STACKS}"
    return Step(text, "docs/locks.md")


def of_root(answer: LogAnswer, end: int) -> Step:
    """The step for a root; `end` is its index."""
    circle = answer.ring(end)
    if not circle:
        return of_task(answer.tasks[end])
    return _DEADLOCK if answer.is_deadlock(circle) else _CIRCLE


def said(answer: LogAnswer, end: int, reports: Iterable[Report] = ()) -> str:
    """The step and its source in one line; where the root waits for a disk, what the
    log reports of one comes first."""
    step = of_root(answer, end)
    if step is CLASSES[c.DEVICE_IO]:
        fails = next((one for one in reports if one.of_disk), None)
        step = _failing(fails) if fails else step
    pid = answer.tasks[end].task.pid
    text = step.text.replace("{pid}", str(pid) if pid is not None else "PID")
    return f"{text} ({step.source})"


def _failing(report: Report) -> Step:
    """The step for a disk of which the log reports errors."""
    text = (
        f"see to the disk that fails ({report.words}, line {report.line}): its cable, "
        "path and controller, smartctl -a"
    )
    return Step(text, "smartctl(8)")
