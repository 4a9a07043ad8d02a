# SPDX-License-Identifier: GPL-2.0-only
"""links: infer from the stacks of one kernel log who waits for whom.

A log has no wakers. Links follow from what ends a wait of each class: a commit releases
a journal buffer, the flusher a throttled writer. So every link is a guess, with a
confidence: told (by the kernel), likely (one task fits) or possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from writestall.classify import classes as c
from writestall.classify.stack import (
    Verdict,
    classify_frames,
    first_caller,
    role_of,
    says_who,
)
from writestall.log.reading import LoggedTask

TOLD, LIKELY, POSSIBLE = "told", "likely", "possible"
# States in which a task is not stuck: kernel/sched/core.c, task_state_to_char().
_NOT_STUCK_STATES = frozenset("RSIZXTtPWN")
ANYONE = (c.WRITER, c.WRITEBACK, c.JOURNAL, c.ROLE_OTHER)


@dataclass(frozen=True, slots=True)
class Stuck:
    """One stuck task in one kind of wait, and the shots of the log that show it.

    `guessed`: only unreliable frames (`?`) gave the class.
    """

    task: LoggedTask
    verdict: Verdict
    role: str
    guessed: bool = False
    shots: frozenset[int] = frozenset()
    times: int = 1

    @property
    def name(self) -> str:
        """`comm/pid`, as far as known; else the stack's line."""
        comm, pid = self.task.comm, self.task.pid
        if pid is not None:
            return f"{comm or '?'}/{pid}"
        return comm or f"line {self.task.line}"

    def shows(self, pattern: re.Pattern[str]) -> bool:
        """True if a function of its stack matches."""
        return any(pattern.fullmatch(frame.symbol) for frame in self.task.frames)


@dataclass(frozen=True, slots=True)
class Link:
    """`waiter` waits for `holder`, for the reason in `why`."""

    waiter: Stuck
    holder: Stuck
    confidence: str
    why: str


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """All stuck tasks of a log and the links between them, at most one per waiter."""

    tasks: tuple[Stuck, ...]
    links: dict[int, Link]
    not_stuck: int = 0

    def cycles(self, at: int) -> bool:
        """True if a task's path has a cycle."""
        path = self.path(at)
        return len(set(path)) < len(path)

    def path(self, at: int) -> list[int]:
        """Indexes from a task to its root; a cycle ends the path."""
        index = {id(task): i for i, task in enumerate(self.tasks)}
        path = [at]
        while (link := self.links.get(path[-1])) is not None:
            after = index[id(link.holder)]
            path.append(after)
            if after in path[:-1]:
                break
        return path


@dataclass(frozen=True, slots=True)
class _Holder:
    """A task that may end a wait of some class: of one of these roles, with one of the
    functions `shows`, and in no wait of `not_in`. `by`: only for waiters of these
    roles, with a function of `of` and none of `not_by`. `peers`: a task of the waiter's
    role and class may be the holder. `same_fs`: both stacks show the same file system;
    otherwise they may not show different ones, except with `any_fs`."""

    roles: tuple[str, ...]
    why: str
    shows: re.Pattern[str] | None = None
    confidence: str = LIKELY
    by: tuple[str, ...] = ANYONE
    of: re.Pattern[str] | None = None
    not_by: re.Pattern[str] | None = None
    not_in: tuple[str, ...] = ()
    peers: bool = False
    same_fs: bool = False
    any_fs: bool = False

    def asks(self, waiter: Stuck) -> bool:
        """True if this row applies to a waiter."""
        if waiter.role not in self.by:
            return False
        if self.of is not None and not waiter.shows(self.of):
            return False
        return self.not_by is None or not waiter.shows(self.not_by)

    def fits(self, waiter: Stuck, task: Stuck) -> bool:
        """True if this task may be the holder for this waiter."""
        if task is waiter or task.role not in self.roles:
            return False
        if task.verdict.cls in self.not_in:
            return False
        # Two tasks of one role in one kind of wait both wait for a third.
        same = (task.role, task.verdict.cls) == (waiter.role, waiter.verdict.cls)
        if same and not self.peers:
            return False
        if self.shows is not None and not task.shows(self.shows):
            return False
        theirs, its = _fs_of(waiter), _fs_of(task)
        if self.same_fs or (theirs and its and not self.any_fs):
            return bool(theirs & its)
        return True


_NOT_JOURNAL = (c.WRITER, c.WRITEBACK, c.ROLE_OTHER)
_COMMIT = re.compile(r"(jbd2_)?journal_commit_transaction")
_HANDLE = re.compile(
    r"do_get_write_access|(jbd2_)?journal_get_\w+_access|_*ext[34]_mark_inode_dirty"
    r"|ext[34]_(dirty_inode|reserve_inode_write|map_blocks|get_blocks?_?\w*|mb_\w+)"
)
_CHECKPOINT = re.compile(r"(jbd2_)?log_do_checkpoint")
_WRITEPAGES = re.compile(r"\w*_writepages|\w*write_cache_pages|mpage_\w+")
_END_IO = re.compile(
    r"ext4_end_io_\w*work|xfs_end_io|iomap_finish_ioends?|finish_ordered_fn"
    r"|btrfs_finish_(one_)?ordered(_io)?"
)
_FILE_OPERATION = re.compile(
    r"\w+_(file|buffered|dio)_\w*(write|read|fsync)\w*|\w+_sync_file|vfs_\w+"
    r"|do_truncate|notify_change|\w+_fallocate|iterate_dir"
)
_STACKED = re.compile(
    r"md_thread|raid\d+d|raid5_do_work|dmcrypt_write|kcryptd\w*|do_worker"
)
_COMMITS = re.compile(
    r"btrfs_commit_transaction|f2fs_write_checkpoint|write_checkpoint"
)
_CIL_PUSH = re.compile(r"xlog_cil_push_work")
_LOG_ENDS = re.compile(r"xlog_ioend_work")
_XFSAILD = re.compile(r"xfsaild")
_FLUSHER = re.compile(r"writeback_sb_inodes|wb_workfn|wb_do_writeback")
_ALL_INODES = re.compile(
    r"wb_wait_for_completion|bdi_sched_wait|\w*writeback_inodes_sb\w*"
)
_DELAYED_REFS = re.compile(r"btrfs_async_run_delayed_refs")
_FREEZES = re.compile(r"freeze_super|freeze_bdev")
_STARTS_WRITE = re.compile(r"percpu_rwsem_wait|_*percpu_down_read|_*sb_start_\w*")
_FS_OF = re.compile(
    r"_*(ext[234]|xfs|btrfs|f2fs|nfs|ceph|ocfs2|gfs2|cifs|nilfs|reiserfs|jfs|ubifs|fat"
    r"|exfat|ntfs|fuse|bch2|zfs)4?_\w+"
)


def _fs_of(stuck: Stuck) -> set[str]:
    """File systems whose functions are on a stack."""
    matches = (_FS_OF.fullmatch(frame.symbol) for frame in stuck.task.frames)
    return {match[1] for match in matches if match}


# What ends a wait of each class, the most likely first.
_HOLDERS: dict[str, tuple[_Holder, ...]] = {
    # A commit that still waits for handles writes no buffers yet (fs/jbd2/commit.c,
    # phase 0), and of a journal's transactions one at a time commits.
    c.JOURNAL_BUFFER: (
        _Holder(
            (c.JOURNAL,),
            "the commit writes the buffer",
            _COMMIT,
            by=_NOT_JOURNAL,
            not_in=(c.JOURNAL_TRANSACTION,),
        ),
    ),
    c.JOURNAL_COMMIT_WAIT: (
        _Holder((c.JOURNAL,), "it commits the transaction", by=_NOT_JOURNAL),
    ),
    c.JOURNAL_TRANSACTION: (
        _Holder(
            (c.JOURNAL,), "it commits the locked transaction", _COMMIT, by=_NOT_JOURNAL
        ),
        _Holder(
            _NOT_JOURNAL,
            "it has a handle open, and the commit waits for all handles",
            _HANDLE,
            by=(c.JOURNAL,),
            not_in=(c.JOURNAL_TRANSACTION, c.JOURNAL_SPACE, c.DIRTY_THROTTLE),
        ),
    ),
    c.JOURNAL_SPACE: (
        _Holder(ANYONE, "it checkpoints, the mutex in hand", _CHECKPOINT),
        _Holder((c.JOURNAL,), "its commit frees log space", _COMMIT, by=_NOT_JOURNAL),
    ),
    c.PAGE_LOCK: (
        _Holder((c.WRITEBACK,), "it locks the pages it writes", _WRITEPAGES),
        _Holder(
            (c.WRITER, c.ROLE_OTHER),
            "it locks the pages it writes",
            _WRITEPAGES,
            POSSIBLE,
        ),
    ),
    c.PAGE_WRITEBACK: (
        _Holder((c.WRITEBACK,), "its work ends the writeback", _END_IO),
        _Holder((c.WRITEBACK,), "it sends pages to the disk", _WRITEPAGES, POSSIBLE),
        _Holder(
            (c.WRITEBACK,),
            "it writes the file system's inodes",
            _FLUSHER,
            POSSIBLE,
            of=_ALL_INODES,
        ),
    ),
    c.DIRTY_THROTTLE: (
        _Holder((c.WRITEBACK,), "it cleans the dirty pages", any_fs=True),
    ),
    c.INODE_LOCK: (
        _Holder(
            (c.WRITER, c.ROLE_OTHER),
            "it is inside a file operation",
            _FILE_OPERATION,
            POSSIBLE,
        ),
    ),
    # A file system's inner locks are taken inside the inode's lock and inside a handle
    # (fs/ext4/inode.c), so who still waits for one of these holds none of them.
    c.FS_LOCK: (
        _Holder(ANYONE, "it freezes the file system", _FREEZES, of=_STARTS_WRITE),
        _Holder(
            ANYONE,
            "it sleeps in the same file system",
            None,
            POSSIBLE,
            not_by=_STARTS_WRITE,
            not_in=(
                c.DIRTY_THROTTLE,
                c.INODE_LOCK,
                c.JOURNAL_TRANSACTION,
                c.JOURNAL_SPACE,
            ),
            same_fs=True,
        ),
    ),
    # Delayed references are run by a worker, no commit (fs/btrfs/extent-tree.c).
    c.FS_TRANSACTION: (
        _Holder(
            (c.JOURNAL,),
            "it commits the transaction",
            by=_NOT_JOURNAL,
            not_by=_DELAYED_REFS,
        ),
        _Holder(ANYONE, "it commits the transaction", _COMMITS, not_by=_DELAYED_REFS),
    ),
    c.LOG_SPACE: (
        _Holder(
            (c.JOURNAL,), "it writes the log", _LOG_ENDS, not_by=_LOG_ENDS, peers=True
        ),
        _Holder(
            (c.JOURNAL,), "it pushes the log", _CIL_PUSH, not_by=_CIL_PUSH, peers=True
        ),
        _Holder((c.JOURNAL,), "it moves the log's tail", _XFSAILD, by=_NOT_JOURNAL),
    ),
    c.RAID_OR_DM: (
        _Holder(ANYONE, "it works for the stacked device", _STACKED, any_fs=True),
    ),
}


def explain_log(tasks: Iterable[LoggedTask]) -> LogAnswer:
    """Find the stuck tasks of a log, once per kind of wait, and the links between tasks
    of one shot."""
    stuck: dict[object, Stuck] = {}
    not_stuck = 0
    for task in tasks:
        if task.state in _NOT_STUCK_STATES or _idle(task):
            not_stuck += 1
            continue
        found = _classified(task)
        # A task that is reported repeatedly (every 120 s) counts once, as last seen.
        name = task.pid if task.pid is not None else ("line", task.line)
        key = (name, found.verdict.cls, found.verdict.path)
        before = stuck.pop(key, None)
        stuck[key] = replace(
            found,
            shots=(before.shots if before else frozenset()) | {task.shot},
            times=(before.times if before else 0) + 1,
        )
    rows = tuple(stuck.values())
    links = {at: link for at, row in enumerate(rows) if (link := _link(row, rows))}
    return LogAnswer(rows, links, not_stuck)


# Functions in which idle tasks sleep: the loops of kernel threads (kernel/workqueue.c,
# kernel/kthread.c, fs/jbd2/journal.c, drivers/md/md.c) and calls that wait for time,
# input or another process.
_IDLE = re.compile(
    r"worker_thread|kthread(_worker_fn)?|rescuer_thread|kthreadd|kjournald2?|xfsaild"
    r"|md_thread|smpboot_thread_fn|kswapd\w*|kcompactd|khugepaged|transaction_kthread"
    r"|cleaner_kthread|loop_thread|bdi_forker_\w+|kauditd_thread|khungtaskd|watchdog"
    r"|(do|hrtimer)_nanosleep|\w*poll_schedule_timeout|ep_poll|futex_wait\w*|do_wait"
    r"|do_sys_poll|do_select|pipe_(read|wait\w*)|n_tty_read|sigsuspend|do_sigtimedwait"
    r"|inet_csk_accept|skb_wait_for_more_packets|sk_wait_data|unix_stream_\w+"
    r"|do_syslog|signalfd_read\w*|eventfd_read|inotify_read|io_cqring_wait"
    r"|ext4_lazyinit_thread|gc_thread_func|issue_(discard|flush|checkpoint)_thread"
    r"|xfssyncd|xfsbufd|gfs2_(logd|quotad)|jfs_(lazycommit|sync)|jfsIOWait|dmcrypt_write"
    r"|nilfs_(segctor|log_write)_thread|bdi_(writeback_(thread|task)|sync_supers)"
    r"|__pdflush|svc_recv|nfsd|lockd|scsi_error_handler|oom_reaper|rcu_gp_kthread"
)


# Functions on the stacks of CPUs that dump their stack, and of idle ones
# (lib/nmi_backtrace.c, kernel/hung_task.c, kernel/sched/idle.c).
_RUNS = re.compile(
    r"nmi_cpu_backtrace|nmi_trigger_\w+|arch_trigger_\w+|check_hung_\w+|watchdog_timer_fn"
    r"|cpu_startup_entry|do_idle|cpu_idle|start_secondary"
)


def _idle(task: LoggedTask) -> bool:
    """True for a stack without a state whose task waits for work, or runs."""
    if task.state is not None or not task.frames:
        return False
    if any(_RUNS.fullmatch(frame.symbol) for frame in task.frames):
        return True
    return bool(_IDLE.fullmatch(first_caller(task.frames)))


def _classified(task: LoggedTask) -> Stuck:
    role = role_of(task.frames or task.guesses, task.comm)
    if role == c.ROLE_OTHER and task.workqueue:
        role = role_of((), f"kworker/{task.workqueue}")
    verdict = classify_frames(task.frames)
    # With reliable frames, the unreliable ones are ignored.
    if verdict.rule is None and not says_who(task.frames):
        unreliable = classify_frames(task.guesses)
        if unreliable.rule is not None:
            return Stuck(task, unreliable, role, guessed=True)
    return Stuck(task, verdict, role)


def _link(waiter: Stuck, tasks: tuple[Stuck, ...]) -> Link | None:
    """Find the holder among the tasks that were stuck at the same time, if one fits."""
    tasks = tuple(task for task in tasks if task.shots & waiter.shots)
    owner = waiter.task.likely_owner
    for task in tasks:
        if owner is not None and task.task.pid == owner and task is not waiter:
            return Link(waiter, task, TOLD, "the kernel names it as the lock's owner")
    for holder in _HOLDERS.get(waiter.verdict.cls, ()):
        if not holder.asks(waiter):
            continue
        fitting = [task for task in tasks if holder.fits(waiter, task)]
        # A task in the same kind of wait is more likely another waiter.
        fitting.sort(key=lambda task: task.verdict.cls == waiter.verdict.cls)
        if fitting:
            unsure = len(fitting) > 1 or waiter.guessed or fitting[0].guessed
            confidence = POSSIBLE if unsure else holder.confidence
            return Link(waiter, fitting[0], confidence, holder.why)
    return None
