# SPDX-License-Identifier: GPL-2.0-only
"""stuck: describe one stuck task of a log and its links to others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

from writestall.classify.frames import Frame
from writestall.classify.named_waits import GRACE_PERIOD
from writestall.classify.stack import (
    Verdict,
    classify_frames,
    first_caller,
    is_sleep,
    says_who,
)
from writestall.log.disks import Disk, disks_of
from writestall.log.file_systems import file_systems_of
from writestall.log.owners import Held
from writestall.log.reading import LoggedTask
from writestall_base import wait_classes as c

# include/linux/fs.h, cleanup.h: what a lock is taken through, where a log shows it.
WRAPPER = re.compile(
    r"_*inode_lock(_\w+)?|btrfs_inode_lock|i_mmap_lock_\w+|class_\w+_constructor"
)

# kernel/locking/: sleeps for a lock; those of an rw-semaphore's readers.
_LOCKS = re.compile(
    r"_*(mutex_lock|down|rwsem_down|percpu_down|rt_mutex|call_rwsem_down)\w*"
)
# kernel/sched/completion.c: what is waited for is no lock.
_COMPLETION = re.compile(r"_*wait_for_(common|completion)\w*|do_wait_for_common")
_READ_LOCK = re.compile(r"_*(rwsem_|call_rwsem_)?down_read\w*")

# drivers/block/loop.c: what a loop device's worker runs.
_LOOP_WORK = re.compile(r"loop_(process_work|workfn|queue_work|thread|rootcg_workfn)")

# mm/shrinker.c shrink_slab() (mm/vmscan.c before 6.7), fs/super.c: what is called below
# waits for anything but memory.
_SHRINKS = re.compile(r"(do_)?shrink_slab(_\w+)?|super_cache_scan|prune_super")

# mm/vmscan.c shrink_folio_list(), mm/page_io.c, mm/migrate.c: with a page in hand.
_TAKES_PAGES = re.compile(
    r"shrink_(page|folio|inactive)_list|migrate_(pages|folio)\w*|pageout|swap_write\w+"
)

# fs/jbd2/journal.c, fs/jbd/journal.c: these threads wait for work interruptibly, so who
# hangs is in a commit.
_COMMITS = (
    (re.compile(r"jbd2/.+"), "jbd2_journal_commit_transaction"),
    (re.compile(r"kjournald"), "journal_commit_transaction"),
)
# kernel/workqueue.c print_worker_info(): "Workqueue: %s %ps (%s)".
_WORK = re.compile(r"^\S{1,64} (?P<function>[A-Za-z_]\w{1,120})(?=\s|$)")
# Drivers whose functions alone begin so, for kernels that have them built in.
_BUILT_IN = frozenset("nbd zram rbd drbd ublk virtblk floppy bcache".split())
_WORKERS = frozenset(("worker_thread", "rescuer_thread"))

REPORTED, LIKELY, POSSIBLE = "reported", "likely", "possible"


@lru_cache(maxsize=65536)
def _matches(pattern: re.Pattern[str], symbol: str) -> bool:
    return pattern.fullmatch(symbol) is not None


def module_of(frame: Frame) -> str:
    """The module of a function; of a driver that is built in, its prefix."""
    word = frame.symbol.lstrip("_").partition("_")[0]
    return frame.module or (word if word in _BUILT_IN else "")


@dataclass(frozen=True, eq=False)
class Stuck:
    """One stuck task in one kind of wait, and in which shots of the log it was seen.

    `guessed`: only frames the kernel doubts (`?`) gave the class. `owner`: it is no
    stuck task itself, but the kernel names it as the owner of a lock. `seen` has its
    stack in each of the shots; `task` is the last. `runs`: it is on a CPU, and an owner
    only where no stuck task fits.
    """

    task: LoggedTask
    verdict: Verdict
    role: str
    guessed: bool = False
    seen: Mapping[int, LoggedTask] = field(default_factory=dict)
    times: int = 1
    owner: bool = False
    runs: bool = False

    def order(self) -> tuple[int, str]:
        """What tasks are put in order by, however the log has them."""
        return self.task.pid or 0, self.task.comm or ""

    @property
    def shots(self) -> frozenset[int]:
        """The shots in which it was seen."""
        return frozenset(self.seen)

    @property
    def name(self) -> str:
        """`comm/pid`, as far as the log has them; else the stack's line."""
        comm, pid = self.task.comm, self.task.pid
        if pid is None:
            return comm or f"line {self.task.line}"
        return f"{comm}/{pid}" if comm else f"pid {pid}"

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Its stack: doubtful frames where no other shows what chose to wait."""
        frames, guesses = self.task.frames, self.task.guesses
        return tuple(frames if frames and says_who(frames) else guesses or frames)

    def is_like(self, other: Stuck) -> bool:
        """True for the same stack: both wait in one place for one kind of thing."""
        mine, its = ([f.symbol for f in stuck.frames] for stuck in (self, other))
        return bool(mine) and mine == its

    @cached_property
    def in_shrinker(self) -> Verdict | None:
        """What it waits for below a shrinker while it reclaims memory."""
        return self._below(_SHRINKS)

    @cached_property
    def in_reclaim(self) -> Verdict | None:
        """The same, with a page in hand that it takes away or moves, if a rule knows
        that."""
        inner = self._below(_TAKES_PAGES)
        return inner if inner and inner.rule else None

    def _below(self, pattern: re.Pattern[str]) -> Verdict | None:
        frames = self.frames
        at = [i for i, frame in enumerate(frames) if pattern.fullmatch(frame.symbol)]
        if self.verdict.cls != c.MEMORY or not at:
            return None
        return classify_frames(frames[: at[0]])

    @cached_property
    def file_systems(self) -> frozenset[str]:
        """The file systems its functions belong to."""
        return file_systems_of(self.frames)

    @cached_property
    def disks(self) -> frozenset[Disk]:
        """The disks in its name or its work's name."""
        return disks_of(self.task.comm, self.task.workqueue)

    @cached_property
    def disks_below(self) -> frozenset[Disk]:
        """The same, but for a loop device's worker: it waits for the file below."""
        if self.shows(_LOOP_WORK):
            return frozenset(disk for disk in self.disks if disk[0] != "loop")
        return self.disks

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The functions on its stack; doubtful ones where there are no others.

        The kernel names the work, too, which the stack need not show: it is cut off
        before it, or the work has called another function as its last. What a journal's
        thread hangs in, its name tells.
        """
        shown = {frame.symbol for frame in self.frames}
        if not says_who(self.frames):
            shown |= {
                does for name, does in _COMMITS if name.fullmatch(self.task.comm or "")
            }
        work = _WORK.search(self.task.workqueue or "")
        return frozenset({*shown, work["function"]} if shown and work else shown)

    @cached_property
    def thread(self) -> str:
        """The function that its kernel thread runs, but for those of workqueues."""
        frames = self.frames
        for inner, outer in pairwise(frames):
            if outer.symbol == "kthread":
                return inner.symbol if inner.symbol not in _WORKERS else ""
        return ""

    def shows(self, pattern: re.Pattern[str]) -> bool:
        """True when a function on its stack matches."""
        return any(_matches(pattern, symbol) for symbol in self.symbols)

    @cached_property
    def caller(self) -> str:
        """The innermost function that is none of sleeping: what chose to wait."""
        frames = self.frames
        while frames and WRAPPER.fullmatch(name := first_caller(frames)):
            at = next(i for i, frame in enumerate(frames) if frame.symbol == name)
            if at + 1 == len(frames):
                return name
            frames = frames[at + 1 :]
        return first_caller(frames)

    @cached_property
    def module(self) -> str:
        """The module whose function takes the lock that it waits for, if one does."""
        frames = self.frames
        at = next((i for i, f in enumerate(frames) if not is_sleep(f.symbol)), 0)
        return module_of(frames[at]) if self.for_lock else ""

    @cached_property
    def reads(self) -> bool:
        """True when it waits for a lock that it would share with others."""
        return self.shows(_READ_LOCK)

    @cached_property
    def is_headless(self) -> bool:
        """True for a stack without the functions that put the task to sleep."""
        return not any(is_sleep(frame.symbol) for frame in self.frames[:1])

    @property
    def is_doubtful(self) -> bool:
        """True where doubtful frames gave the class, or a function that may sleep for
        several things, and the stack does not show for which."""
        rule = self.verdict.rule
        return self.guessed or (self.is_headless and bool(rule and rule.bare))

    @cached_property
    def for_lock(self) -> bool:
        """True when it sleeps for a lock."""
        at = next((i for i, f in enumerate(self.frames) if not is_sleep(f.symbol)), 0)
        return any(_LOCKS.fullmatch(frame.symbol) for frame in self.frames[:at])

    @cached_property
    def for_completion(self) -> bool:
        """True when it waits for a completion."""
        return self.shows(_COMPLETION)

    @cached_property
    def for_grace_period(self) -> bool:
        """True when it waits for a grace period of RCU, or boosts who keeps one from
        ending (kernel/rcu/tree_plugin.h rcu_boost())."""
        waits = self.verdict.named == GRACE_PERIOD
        return waits or self.thread == "rcu_boost_kthread"

    @cached_property
    def wanted(self) -> Held | None:
        """The lock it waits for, by lockdep: the last of its list, if taken there.

        Of functions that were inlined into each other the list names each.
        """
        held, frames = self.task.held, self.task.frames
        if not held or self.for_completion:
            return None
        if not frames:
            # The kernel doubts all of the stack, but not that it sleeps for a lock.
            return held[-1] if self.for_lock else None
        shown = is_sleep(frames[0].symbol)
        if shown and "mutex" in held[-1].name and not self.for_lock:
            return None  # kernel/locking/mutex.c has functions of its own for that
        taken = {one.at for one in held if one.is_same(held[-1])}
        return held[-1] if taken & {self.caller, first_caller(frames)} else None

    def holds(self, lock: Held) -> bool:
        """True when a lock is in its list and it is not waiting for it."""
        waits = self.wanted
        mine = [
            one for one in self.task.held if waits is None or not one.is_same(waits)
        ]
        return any(one.is_same(lock) for one in mine)


@dataclass(frozen=True, slots=True)
class Link:
    """`waiter` waits for `holder`, for the reason in `why`.

    `rule` is the rule that made a guess of it; empty where the kernel reported it.
    `stacked`: the rule is about a device below both. `hint`: what the kernel reported
    may be over.
    """

    waiter: Stuck
    holder: Stuck
    confidence: str
    why: str
    rule: str = ""
    stacked: bool = False
    hint: bool = False

    @property
    def is_sure(self) -> bool:
        """True where the kernel says who holds the lock, not who held it last."""
        return self.confidence == REPORTED and not self.hint


@dataclass(frozen=True, slots=True)
class Choice:
    """`waiter` waits for one of `holders`, and nobody knows for which; `holders` are
    all that fit any rule, those of the best rule first, of which there are `best`."""

    waiter: Stuck
    holders: tuple[Stuck, ...]
    why: str
    best: int
