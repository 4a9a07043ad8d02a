# SPDX-License-Identifier: GPL-2.0-only
"""named_waits: name what a task waits for more closely than its class, and what to do.

The step is the command that shows the next link, the file to read, or the known remedy,
with the manual or the part of the kernel's documentation that has it.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """What to do, and which source has it; `{pid}` stands for the task's."""

    text: str
    source: str


class NamedWait(NamedTuple):
    """What a task does, in words, and the step; without one, that of the class."""

    words: str
    text: str = ""
    source: str = ""

    @property
    def step(self) -> Step | None:
        """What to do next about it."""
        return Step(self.text, self.source) if self.text else None


ALL_STACKS = "echo w > /proc/sysrq-trigger"
SYSRQ = "Documentation/admin-guide/sysrq.rst"
_CGROUP = "Documentation/admin-guide/cgroup-v2.rst"
_MD_RST = "Documentation/admin-guide/md.rst"
WORKS = Step(
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
    f"xfs_alloc_*(), xfs_bmapi_*(), xfs_ifree() or xfs_trans_commit(): {ALL_STACKS}",
    "fs/xfs/xfs_trans_buf.c",
)
_CIPHER = Step(
    "see which driver encrypts (cat /proc/crypto) and look for its errors in dmesg; "
    "without the module of a hardware driver the CPU encrypts",
    "Documentation/filesystems/fscrypt.rst",
)
_REPLACE = Step(
    f"find the tasks that sleep with I/O of the file system under way: {ALL_STACKS}; "
    "btrfs replace status",
    "btrfs-replace(8)",
)
_DAX = Step(
    "find who has the page: direct I/O or RDMA to a mapping of the file, below "
    f"dax_iomap_*() or get_user_pages*(): {ALL_STACKS}",
    "fs/dax.c",
)

# block/, its drivers, md and device-mapper
REMOVES_SCSI = NamedWait(
    "removes a SCSI target or host and waits until its devices have gone",
    "find who still has a device of it: fuser -v /dev/sd*, ls "
    f"/sys/block/sd*/holders, {ALL_STACKS}",
    "Documentation/scsi/scsi_mid_low_api.rst",
)
CPU_HOTPLUG = NamedWait(
    "takes a CPU up or down and waits for that CPU's hotplug thread",
    "take the stack of that CPU's thread, cpuhp/N: cat /proc/$(pgrep cpuhp/N)/stack",
    "Documentation/core-api/cpu_hotplug.rst",
)
RPC_CLIENT = NamedWait(
    "waits until the requests of an RPC client have ended",
    "see which requests the client has: cat "
    "/sys/kernel/debug/sunrpc/rpc_clnt/*/tasks; the network between: ss -tni",
    "ss(8)",
)
THREAD_ENDS = NamedWait(
    "waits until a kernel thread has ended",
    f"find the thread that does not end: {ALL_STACKS}, a kernel thread in D",
    SYSRQ,
)
SYSFS_USERS = NamedWait(
    "waits until nobody uses a file of sysfs that goes away",
    f"find the task below kernfs_fop_*() that sleeps: {ALL_STACKS}",
    "fs/kernfs/dir.c kernfs_drain()",
)
GRACE_PERIOD = NamedWait(
    "waits for a grace period of RCU",
    "look for a CPU that does not leave the kernel: rcu stalls in dmesg, echo l > "
    "/proc/sysrq-trigger",
    "Documentation/RCU/stallwarn.rst",
)
NEW_THREAD = NamedWait(
    "waits until kthreadd has started a kernel thread",
    "take the stack of kthreadd: cat /proc/2/stack; it may wait for memory (cat "
    "/proc/pressure/memory)",
    "kernel/kthread.c kthreadd()",
)
HANDLES_ERRORS = NamedWait(
    "recovers a SCSI host from errors (aborts, resets)", *_SCSI_ERRORS
)
AWAITS_HANDLER = NamedWait(
    "waits until a SCSI host has recovered from errors", *_SCSI_ERRORS
)
BARRIER_RAISED = NamedWait(
    "waits until an array's resync, reshape or freeze lets I/O in", *_SYNC
)
RAISES_BARRIER = NamedWait(
    "keeps I/O out of an array and waits until what is under way has ended", *_ARRAY_IO
)
ARRAY_METADATA = NamedWait(
    "waits until an array's superblock or bitmap is written",
    "see whether the superblock can be written: mdadm --detail for a failed "
    "member, whether mdmon runs (external metadata), and the stack of the thread "
    "mdN_raidX: cat /proc/PID/stack",
    "mdmon(8)",
)
BITMAP_COUNTER = NamedWait(
    "waits for room in a counter of an array's bitmap",
    "see whether the writes under way end: cat /sys/block/mdN/inflight and "
    "/sys/block/mdN/md/stripe_cache_active, twice; mdadm --grow --bitmap=none "
    "does without the bitmap",
    "mdadm(8)",
)
FREE_STRIPE = NamedWait(
    "waits for a free stripe of an array",
    "compare stripe_cache_active with stripe_cache_size in /sys/block/mdN/md; a "
    "larger stripe_cache_size lets it go on for now",
    _MD_RST,
)
ARRAY_SUSPENDED = NamedWait(
    "waits until a suspended array takes I/O again",
    "find who suspended it (mdadm, md_attr_store() or a resync): cat "
    f"/sys/block/mdN/md/suspend_lo suspend_hi sync_action, {ALL_STACKS}",
    _MD_RST,
)
SUSPENDS_ARRAY = NamedWait(
    "suspends an array and waits until its I/O has ended", *_ARRAY_IO
)
RESHAPE = NamedWait(
    "waits for stripes of an array that are in use, or before its reshape", *_SYNC
)
STOPS_SYNC = NamedWait("waits until an array's sync has stopped", *_SYNC)
SYNC_IO = NamedWait(
    "waits until the I/O of the sync that it does has ended", *_ARRAY_IO
)
CIPHER = NamedWait("waits for the cipher of dm-crypt", *_CIPHER)
CONNECTS = NamedWait(
    "connects to an NVMe controller and waits for its answer",
    "see whether the controller is reachable: nvme list-subsys, dmesg for its "
    "errors; give it up with nvme disconnect",
    "nvme-disconnect(1)",
)
BLOCK_LOCK = NamedWait(
    "waits for a lock of the block layer",
    f"find the task that is in the same function, or further below it: "
    f"{ALL_STACKS}; a kernel with lockdep lists who holds what: echo d > "
    "/proc/sysrq-trigger",
    SYSRQ,
)
FROZEN_QUEUE = NamedWait(
    "waits until a queue that is frozen, suspended or dying takes requests again",
    "find who froze it, below blk_mq_freeze_queue*(), elevator_*() or del_gendisk(): "
    f"{ALL_STACKS}; cat /sys/block/*/device/power/runtime_status",
    "block/blk-mq.c blk_mq_freeze_queue()",
)
DIRECT_IO = NamedWait(
    "waits until direct I/O to the file has ended",
    "find the direct I/O that does not end: the disk's (iostat -x 1, cat "
    f"/sys/block/*/inflight), or a work that ends it: {ALL_STACKS}",
    "fs/inode.c inode_dio_wait()",
)
RUNTIME_PM = NamedWait(
    "waits until a device has been resumed or suspended (runtime PM)",
    "see which device: cat /sys/devices/.../power/runtime_status; echo on > "
    "/sys/devices/.../power/control keeps it from suspending",
    "Documentation/power/runtime_pm.rst",
)
HELPER = NamedWait(
    "waits until a program that the kernel has started ends (user-mode helper)",
    "find the program: ps -ef --ppid 2 with a path (/sbin/...), and take its "
    "stack: cat /proc/PID/stack",
    "kernel/umh.c",
)
TABLE_USERS = NamedWait(
    "waits until nobody uses the old table of a mapped device (SRCU)",
    "find who is inside the device with the old table (dmsetup status, message, "
    f"I/O): {ALL_STACKS}; dmsetup info -c",
    "dmsetup(8)",
)
SUSPENDS_MAP = NamedWait(
    "suspends a mapped device and waits until its I/O has ended",
    "see what is below it and does not end: dmsetup ls --tree, cat "
    "/sys/block/*/inflight; for a thin pool or mirror, dmsetup status",
    "dmsetup(8)",
)
WBT = NamedWait(
    "is throttled for the disk's other users (writeback throttling, wbt)",
    "see whether the disk is slow (iostat -x 1); echo 0 > "
    "/sys/block/DISK/queue/wbt_lat_usec turns the throttling off",
    "Documentation/ABI/stable/sysfs-block",
)
IO_WEIGHT = NamedWait(
    "is throttled to the share of its cgroup (io.weight)",
    "compare io.weight, io.cost.qos and io.stat of the cgroups",
    _CGROUP,
)
IO_LATENCY = NamedWait(
    "is throttled, for its cgroup keeps another from its io.latency",
    "compare io.latency and io.stat of the cgroups",
    _CGROUP,
)
IN_ITS_NAME = NamedWait(
    "is delayed for I/O done in the name of its cgroup",
    "compare io.weight, io.latency and io.stat of its cgroup with others'",
    _CGROUP,
)
IO_MAX = NamedWait(
    "is throttled by the io.max of its cgroup",
    "read io.max and io.stat of its cgroup, and raise the limit",
    _CGROUP,
)
RESETS_NVME = NamedWait(
    "resets an NVMe controller and waits until its requests have ended",
    "look for the reset's cause in dmesg (timeout, controller is down) and in the "
    "drive's own log: nvme smart-log, nvme error-log",
    "nvme(1)",
)
FREEZES_QUEUE = NamedWait(
    "freezes a queue and waits until all requests of the disk have ended",
    "see which requests do not end: cat /sys/kernel/debug/block/DISK/hctx*/busy",
    "block/blk-mq-debugfs.c",
)
FLUSHES_WORK = NamedWait("waits until a work that it flushes is done", *WORKS)
RESETS_USB = NamedWait(
    "resets a USB device",
    "look for usb lines in dmesg, change cable, port or hub; power saving off: "
    "usbcore.autosuspend=-1",
    "Documentation/driver-api/usb/power-management.rst",
)
USB_DEVICE = NamedWait(
    "waits for a USB device",
    "look for usb lines in dmesg and at the device's power; usb-storage.quirks=... "
    "turns UAS off",
    "Documentation/admin-guide/kernel-parameters.txt",
)

# Events of many subsystems
USERFAULT = NamedWait(
    "waits for the program that handles its page faults (userfaultfd)",
    "find the program that handles the faults (ls -l /proc/*/fd | grep "
    "userfaultfd) and take its stack: cat /proc/PID/task/*/stack",
    "Documentation/admin-guide/mm/userfaultfd.rst",
)
OTHER_THREADS = NamedWait(
    "waits until the other threads of its process have ended (execve)",
    "take the stacks of the process's threads: cat /proc/{pid}/task/*/stack",
    "fs/exec.c de_thread()",
)
DAX_PAGE = NamedWait("waits until nobody uses a page of persistent memory (DAX)", *_DAX)
DAX_ENTRY = NamedWait(
    "waits for an entry of persistent memory that another has locked (DAX)", *_DAX
)
SWAP_RACE = NamedWait("waits for a page of swap that another task reads in or frees")
HOLE = NamedWait(
    "waits until a hole in a file of tmpfs has been punched",
    f"find the task inside shmem_fallocate(): {ALL_STACKS}",
    SYSRQ,
)
SERIAL_WRITE = NamedWait(
    "waits for an earlier write of the same sectors of an array", *_ARRAY_IO
)
RESHAPES = NamedWait(
    "reshapes an array, and waits for its stripes or its superblock", *_SYNC
)
NO_MEMORY = NamedWait("pauses, for there is no memory to allocate")
TARGET_COMMAND = NamedWait(
    "waits until the commands of a SCSI target have ended",
    "see whether the disk behind the LUN answers: iostat -x 1, errors in dmesg; "
    "targetcli ls names it",
    "targetcli(8)",
)
SPLITS_BLOCK = NamedWait(
    "waits for the worker that splits a block of a btree of XFS",
    f"find the worker below xfs_btree_split_worker(): {ALL_STACKS}, or echo t "
    "where it has not begun",
    "fs/xfs/libxfs/xfs_btree.c",
)
AIL_RESTS = NamedWait(
    "pauses before it writes what the log of XFS holds again (xfsaild)",
    "see what keeps its items: trace-cmd record -e xfs:xfs_ail_pinned -e "
    "xfs:xfs_ail_locked -e xfs:xfs_ail_flushing; whether the disk writes: iostat "
    "-x 1",
    "fs/xfs/xfs_trace.h",
)
SCANS = NamedWait(
    "waits until earlier scans of SCSI hosts are over",
    "find the host whose scan does not end: errors of drivers in dmesg, and a task "
    f"below scsi_scan_*(): {ALL_STACKS}; scsi_mod.scan=sync shows the order",
    "Documentation/admin-guide/kernel-parameters.txt",
)
SWAP_BIOS = NamedWait(
    "waits for earlier bios of swap to a mapped device (swap_bios)",
    "see what the device that swap lies on waits for, such as kcryptd or a loop "
    f"device: {ALL_STACKS}; swapoff it, or swap to a plain partition",
    "swapoff(8)",
)
GSSD = NamedWait(
    "waits for rpc.gssd (credentials of Kerberos)",
    "see whether rpc.gssd runs and answers: systemctl status rpc-gssd, klist",
    "rpc.gssd(8)",
)
LISTENER = NamedWait(
    "waits for a program that watches files to answer (fanotify)",
    "find the program, such as a virus scanner, and take its stacks: grep -l "
    "fanotify /proc/*/fdinfo/*, cat /proc/PID/task/*/stack",
    "fanotify(7)",
)
NFSD_ENDS = NamedWait(
    "waits until the threads of nfsd have ended",
    f"find the thread nfsd that sleeps in a request: {ALL_STACKS}",
    "nfsd(8)",
)
RING_ENDS = NamedWait(
    "waits until the requests of its io_uring have ended",
    f"find the worker iou-wrk-PID that sleeps in a request: {ALL_STACKS}",
    "io_uring(7)",
)
SCRUBS = NamedWait(
    "scrubs, and waits for the I/O of that",
    "see whether the disks answer (iostat -x 1) and the scrub goes on: btrfs scrub "
    "status MOUNT; btrfs scrub cancel MOUNT ends it",
    "btrfs-scrub(8)",
)
SERVER_COPY = NamedWait("waits until the NFS server has copied", *_SERVER)
CORE_DUMP = NamedWait(
    "waits until the core of its process has been written",
    "see where the core goes (cat /proc/sys/kernel/core_pattern), and take the "
    "stacks of the process: cat /proc/{pid}/task/*/stack",
    "core(5)",
)
AUTOMOUNT = NamedWait(
    "waits for automount to mount (autofs)",
    "take the stacks of automount and of what it mounts: ps -e | grep mount, cat "
    "/proc/PID/stack; umount -l DIRECTORY gives up",
    "autofs(8)",
)
HANDLERS = NamedWait(
    "waits until the handlers of an interrupt have ended",
    "find the thread irq/N-NAME that sleeps in a handler: "
    f"{ALL_STACKS}; cat /proc/interrupts",
    "kernel/irq/manage.c",
)
BCACHE_JOURNAL = NamedWait(
    "waits for the journal of bcache",
    "see whether the cache device answers (iostat -x 1) and writes back: grep . "
    "/sys/fs/bcache/*/internal/*journal* /sys/block/bcache*/bcache/dirty_data",
    "Documentation/admin-guide/bcache.rst",
)
TREE_LOG = NamedWait(
    "waits until the log of a btrfs tree is written",
    "find the task below btrfs_sync_log() or btrfs_log_inode() that sleeps "
    f"further in: {ALL_STACKS}",
    "fs/btrfs/tree-log.c",
)

# File systems
DELAYED_DATA = NamedWait(
    "waits until delayed data of a subvolume is written (btrfs)",
    "find the worker below btrfs_run_delalloc_work() that sleeps further in: "
    f"{ALL_STACKS}",
    "fs/btrfs/inode.c start_delalloc_inodes()",
)
ROOM_IN_LOG = NamedWait(
    "waits for room in the log of its file system",
    f"take the stack of the thread that flushes the log (gfs2_logd): {ALL_STACKS}",
    "fs/gfs2/log.c gfs2_logd()",
)
FREE_SPACE_OF_GROUP = NamedWait(
    "waits for the free space of an allocation group of XFS (AGF)", *_XFS_BUFFER
)
INODES_OF_GROUP = NamedWait(
    "waits for the inodes of an allocation group of XFS (AGI)", *_XFS_BUFFER
)
BUFFER_OF_XFS = NamedWait(
    "waits for a buffer of XFS that a transaction has locked", *_XFS_BUFFER
)
ILOCK_OF_XFS = NamedWait(
    "waits for the lock of an XFS inode (ILOCK)",
    "find the task that changes the same inode in a transaction: "
    f"{ALL_STACKS} for one below xfs_*() that sleeps further in",
    "fs/xfs/xfs_inode.c",
)
FREES_CLUSTER = NamedWait(
    "frees a cluster of inodes of XFS and waits for one of these inodes",
    "find the task that has one of the inodes and waits for their buffer, below "
    f"xfs_iflush*() or xfs_reclaim_inode(): {ALL_STACKS}",
    "fs/xfs/xfs_inode.c xfs_ifree_cluster()",
)
OWN_CHECKPOINT = NamedWait(
    "waits for the lock of a checkpoint that it makes itself",
    "report it to the file system's maintainers: it drops the last reference to an "
    "inode (iput()) inside its checkpoint; only a reboot ends it",
    "Documentation/admin-guide/reporting-issues.rst",
)
ENCRYPTS = NamedWait("waits until data is encrypted or decrypted (fscrypt)", *_CIPHER)
REPLACES = NamedWait(
    "replaces a device and waits until I/O under way has ended", *_REPLACE
)
OWN_RANGE = NamedWait(
    "waits for a range of a file that its own direct I/O may hold",
    "it is a deadlock with itself: report it with this stack; a buffer that is no "
    "mapping of the same file avoids it",
    "Documentation/admin-guide/reporting-issues.rst",
)
RANGE_OF_FILE = NamedWait(
    "waits for a range of a file that another task has locked (btrfs)",
    "find who has the range: a task below btrfs_finish_ordered_io(), btrfs_clone() "
    f"or a direct I/O that sleeps further in: {ALL_STACKS}",
    "fs/btrfs/extent-io-tree.c",
)
TREE_BLOCK = NamedWait(
    "waits for the lock of a block of a btrfs tree",
    "find the task below btrfs_search_slot() that sleeps further in or runs: "
    f"{ALL_STACKS}, echo l > /proc/sysrq-trigger",
    "fs/btrfs/locking.c",
)
SCRUB_PAUSED = NamedWait(
    "scrubs, and pauses until the commit is over",
    f"take the stack of the task that commits: {ALL_STACKS}; btrfs scrub cancel "
    "ends the scrub",
    "btrfs-scrub(8)",
)
DELAYED_IPUTS = NamedWait(
    "waits until inodes that nobody uses any more are freed (btrfs)",
    f"take the stack of btrfs-cleaner and of who unmounts or flushes: {ALL_STACKS}",
    "fs/btrfs/inode.c btrfs_run_delayed_iputs()",
)
WRITES_SUPERS = NamedWait(
    "commits, and waits for the devices to write the superblocks",
    "see whether the devices of the file system answer: iostat -x 1, errors in "
    "dmesg, btrfs device stats MOUNT",
    "fs/btrfs/disk-io.c write_all_supers(); btrfs-device(8)",
)
QGROUP_FLUSH = NamedWait(
    "waits until data of a btrfs quota group has been written",
    "see whether the flusher of the file system writes, and whether quotas need be "
    f"on: btrfs qgroup show MOUNT, {ALL_STACKS}",
    "fs/btrfs/qgroup.c try_flush_qgroup()",
)
KEPT_OUT = NamedWait("waits until a device is replaced", *_REPLACE)
ORDERED_DATA = NamedWait(
    "waits until data of a btrfs file has been written (ordered extents)",
    "see whether the disk writes (iostat -x 1), and find the task below "
    f"btrfs_finish_ordered_io() or *_cow_range() that sleeps: {ALL_STACKS}",
    "fs/btrfs/ordered-data.c",
)
WRITES_XFS_LOG = NamedWait(
    "waits until the log of XFS has been written",
    "see whether the disk of the log writes: iostat -x 1, errors in dmesg; take "
    f"the stacks of kworkers below xlog_*(): {ALL_STACKS}",
    "fs/xfs/xfs_log.c xlog_wait_on_iclog()",
)
ROOM_IN_XFS_LOG = NamedWait("waits for room in the log of XFS")
SPACE_OF_BTRFS = NamedWait(
    "waits until btrfs has made room (a ticket for space)",
    "see whether metadata or data has run out (btrfs filesystem usage MOUNT), and "
    f"take the stack of the worker in btrfs_async_reclaim_*(): {ALL_STACKS}",
    "fs/btrfs/space-info.c; btrfs-filesystem(8)",
)
JOINED_TRANSACTION = NamedWait(
    "waits until all who joined its transaction have left",
    f"find the task that has joined and sleeps elsewhere below btrfs_*(): {ALL_STACKS}",
    "fs/btrfs/transaction.c btrfs_commit_transaction()",
)
ZFS_THROTTLE = NamedWait(
    "is throttled by ZFS for dirtying data",
    "see whether the pool writes (zpool iostat -l 1); zfs_dirty_data_max is its limit",
    "zfs(4)",
)

# Locks of the VFS
LOOKED_UP = NamedWait(
    "waits until another task's lookup of the same name is over",
    f"find the task inside *_lookup() or *_atomic_open() of the same directory: "
    f"{ALL_STACKS}",
    "fs/dcache.c d_alloc_parallel()",
)
READ_OR_FREED = NamedWait(
    "waits for an inode that is read in or freed",
    f"find the task inside evict() or *_iget(): {ALL_STACKS}",
    "fs/inode.c __wait_on_freeing_inode()",
)
OPEN_FILE = NamedWait(
    "waits for another's read or write of the same open file (f_pos_lock)",
    "find the thread of the same process, or who shares the open file, inside "
    f"read(2), write(2) or getdents(2): {ALL_STACKS}",
    "fs/file.c __fdget_pos()",
)
CLUSTER_LOCK = NamedWait(
    "waits for a lock of the array in its cluster",
    "see which node holds the lock, and whether all of them answer: dlm_tool "
    "lockdebug, dlm_tool status, the stack of mdN_cluster_rec on the others",
    "drivers/md/md-cluster.c; dlm_tool(8)",
)
CLUSTER_INODE = NamedWait(
    "waits until the cluster grants this node a lock of the file system (glock, DLM)",
    "see which node and task hold the lock (f:H) that it waits for (f:W): "
    "/sys/kernel/debug/gfs2/*/glocks of each node, dlm_tool lockdebug, or "
    "debugfs.ocfs2 -R fs_locks",
    "Documentation/filesystems/gfs2-glocks.rst; debugfs.ocfs2(8)",
)
FREEZES = NamedWait(
    "freezes a file system, and waits for its writers or its superblock",
    "find the task that writes and sleeps elsewhere, below vfs_write(), "
    f"mnt_want_write() or of an io_uring: {ALL_STACKS}",
    "fs/super.c freeze_super(); fsfreeze(8)",
)
FROZEN = NamedWait(
    "waits for a file system that is frozen, or being frozen",
    "find who froze it (fsfreeze, a snapshot of LVM, a hypervisor's guest agent) "
    "and thaw it: fsfreeze -u MOUNTPOINT",
    "fsfreeze(8)",
)
MOUNTING = NamedWait(
    "waits until a file system is mounted or unmounted",
    f"find the mount or umount that does not end: {ALL_STACKS} for a task below "
    "deactivate_locked_super() or vfs_get_tree()",
    "fs/super.c",
)
MEMORY_MAP = NamedWait(
    "waits for the lock of a process's memory map (mmap_lock)",
    "take the stacks of that process's threads: cat /proc/PID/task/*/stack",
    "Documentation/filesystems/proc.rst",
)

# Pages and writeback
ITSELF = NamedWait(
    "waits until an inode is written, which it may be writing itself",
    "report it to the file system's maintainers: it drops the last reference to an "
    "inode (iput()) while it writes; only a reboot ends it",
    "Documentation/admin-guide/reporting-issues.rst",
)
BY_FLUSHER = NamedWait(
    "waits until the flusher has written a file system's inodes",
    "take the stack of the flusher, kworker/uN:N with flush-MAJOR:MINOR: "
    f"{ALL_STACKS}; see whether the disk below writes: iostat -x 1",
    SYSRQ,
)
INODE_WRITTEN = NamedWait(
    "waits until another task has written an inode (I_SYNC)",
    f"find the task below __writeback_single_inode() that sleeps: {ALL_STACKS}",
    "fs/fs-writeback.c inode_wait_for_writeback()",
)
WRITEBACK_LIMIT = NamedWait(
    "reclaims memory, and pauses until less of it is under writeback",
    "see whether the disk or server below writes: iostat -x 1, grep -E "
    "'Dirty|Writeback|NFS_Unstable' /proc/meminfo",
    "Documentation/filesystems/proc.rst",
)
OF_A_POOL = NamedWait(
    "waits for memory of a pool, which comes back as I/O ends",
    "see which I/O does not end, above and below the device whose worker it is: "
    "cat /sys/block/*/inflight, dmsetup ls --tree",
    "Documentation/core-api/mm-api.rst",
)
EACH_CPU = NamedWait(
    "waits until each CPU has run a work (lru_add_drain_all)",
    "find the CPU whose workers do not run: a task of a real-time policy (ps -eLo "
    "cls,rtprio,psr,pcpu,comm), echo l > /proc/sysrq-trigger",
    "Documentation/core-api/workqueue.rst",
)
CHECKPOINT_RETRY = NamedWait(
    "pauses before it tries again for the checkpoint's lock",
    f"find the task in f2fs_write_checkpoint(): {ALL_STACKS}",
    "Documentation/filesystems/f2fs.rst",
)

# Servers and programs
NFS_ANSWER = NamedWait(
    "waits for the answer of an NFS server",
    "see whether the server answers: nfsstat -rc, rpcinfo -t SERVER nfs; a mount "
    "that is hard waits for ever",
    "nfs(5)",
)
LUSTRE_ANSWER = NamedWait(
    "waits for the answer of a Lustre server",
    "see which server does not answer: lfs check servers, lctl get_param "
    "osc.*.import mdc.*.import",
    "lfs-check(1)",
)
NFS_CALLBACK = NamedWait(
    "waits until callbacks to a client of the NFS server have ended",
    "find the client whose callback state is not UP: grep . "
    "/proc/fs/nfsd/clients/*/info; echo expire > /proc/fs/nfsd/clients/N/ctl "
    "gives it up",
    "fs/nfsd/nfs4state.c client_info_show(), client_ctl_write()",
)
FUSE_ANSWER = NamedWait(
    "waits for the answer of a FUSE server",
    "take the stacks of the server's threads: cat /proc/PID/task/*/stack; as a "
    "last resort echo 1 > /sys/fs/fuse/connections/N/abort",
    "Documentation/filesystems/fuse.rst",
)
SMB_ANSWER = NamedWait(
    "waits for the answer of an SMB server",
    "see whether the server answers: cat /proc/fs/cifs/DebugData",
    "Documentation/admin-guide/cifs/usage.rst",
)
NFS_MANAGER = NamedWait(
    "waits for the state manager of its NFS client",
    "take the stack of the thread ADDRESS-manager: ps -e | grep manager, then cat "
    "/proc/PID/stack",
    "nfs(5)",
)
NFS_RECOVERY_IDLES = NamedWait(
    "idles: the recovery of the NFS client's state does not run",
    "report it to the NFS client's maintainers, with rpcdebug -m nfs -s state",
    "rpcdebug(8)",
)
P9_ANSWER = NamedWait("waits for the answer of a 9P server", *_SERVER)
SERVER_ANSWER = NamedWait("waits for the answer of a file server", *_SERVER)
DEVTMPFS = NamedWait(
    "waits until a node in /dev is made or removed",
    "take the stack of kdevtmpfs: cat /proc/$(pgrep kdevtmpfs)/stack",
    "Documentation/filesystems/proc.rst",
)
