# SPDX-License-Identifier: GPL-2.0-only
"""stack: classify what a stack's task waits for, and find the task's role."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from writestall.classify.frames import Frame, parse_stack
from writestall.classify.named_waits import NamedWait
from writestall.classify.rules import OVERRIDES, RULES
from writestall.classify.rules.form import (
    FS_MODULES,
    IO,
    LOCK,
    MODULES,
    SLEEPS,
    TIMER,
    Rule,
)
from writestall.classify.rules.roles import COMMS
from writestall.classify.rules.roles import RULES as ROLES
from writestall_base import wait_classes as c


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class of a stack.

    `path` has the functions that show it, outermost first; `rule` is None if no rule
    matches.
    """

    cls: str
    path: tuple[str, ...] = ()
    rule: Rule | None = None

    @property
    def named(self) -> NamedWait | None:
        """What is waited for, where the rule names it more closely than the class."""
        return self.rule.named if self.rule else None

    @property
    def words(self) -> str:
        """What a task in this wait does."""
        return self.named.words if self.named else c.DOES[self.cls]


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for a rule's names; `*` is any text, `[234]` one of these."""
    escaped = (re.escape(name).replace(r"\*", ".*") for name in names)
    texts = (re.sub(r"\\\[(\d+)\\\]", r"[\1]", text) for text in escaped)
    return re.compile("|".join(f"(?:{text})" for text in texts))


@cache
def _matches(names: tuple[str, ...], symbol: str) -> bool:
    """True if a symbol is one of a rule's names (the tuple is the cache's key)."""
    return _pattern(names).fullmatch(symbol) is not None


@lru_cache(maxsize=65536)
def _rules_of(symbol: str) -> tuple[Rule, ...]:
    """The rules that name a symbol, in the table's order."""
    return tuple(rule for rule in RULES if _matches(rule.names, symbol))


@lru_cache(maxsize=65536)
def _sleep_of(symbol: str) -> str | None:
    """The kind of sleep of a function, None if it is none."""
    return next(
        (kind for kind, names in SLEEPS.items() if _matches(names, symbol)), None
    )


def _any(names: tuple[str, ...], frames: Sequence[Frame]) -> bool:
    return any(_matches(names, frame.symbol) for frame in frames)


def _sleeps(kinds: tuple[str, ...], frames: Sequence[Frame]) -> bool:
    """True if one of these frames is such a kind of sleep."""
    return any(_sleep_of(frame.symbol) in kinds for frame in frames)


def _waits(rule: Rule, frames: Sequence[Frame], at: int, unknown: bool) -> bool:
    """True if the sleep below this frame meets the rule's conditions."""
    if rule.wait and not _sleeps(rule.wait, frames[: at + 1]):
        # Without a sleep function in the stack, the innermost frame sleeps.
        return rule.bare and at == 0 and not unknown
    if rule.not_wait and _sleeps(rule.not_wait, frames[:at]):
        return False
    if rule.seen and not _first_caller(frames):
        return False
    return not rule.first or (not unknown and _first_caller(frames) >= at)


def _holds(rule: Rule, frames: Sequence[Frame], at: int, unknown: bool) -> bool:
    """True if a rule's conditions hold for the frame at this index.

    `unknown`: a function of an unknown module waits.
    """
    if not _waits(rule, frames, at, unknown):
        return False
    outer = frames[at + 1 :]
    if rule.by and not _any(rule.by, outer[:1]):
        return False
    if rule.callers and not _any(rule.callers, outer):
        return False
    return not (rule.not_callers and _any(rule.not_callers, outer))


def _known(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Frames of the kernel and of known modules."""
    return tuple(frame for frame in frames if _is_known(frame))


def _is_known(frame: Frame) -> bool:
    return frame.module is None or frame.module in MODULES


# Matched by _foreign() instead of a name.
FOREIGN = Rule(
    c.DEVICE_IO,
    (),
    "kernel/sched/core.c io_schedule(): the sleep is for an I/O, by its own account; a "
    "file system or its journal calls into other modules only downwards, through "
    "submit_bio(), whose own frames are tail calls (block/blk-core.c, fs/buffer.c)",
)


# The last rule.
IOWAIT = Rule(
    c.DEVICE_IO,
    (),
    "kernel/sched/core.c io_schedule(): a sleep for an I/O, by its own account; since "
    "__wait_on_buffer() tail-calls (fs/buffer.c), a buffer's I/O has no other sign",
)


# For file systems whose functions no rule names.
OWN_LOCK = Rule(
    c.FS_LOCK,
    (),
    "kernel/locking/: a lock that a function of a file system's module takes itself",
)


def _own_lock(frames: Sequence[Frame], first: int) -> bool:
    """True if a file system's module takes the lock."""
    return (
        first < len(frames)
        and frames[first].module in FS_MODULES
        and _sleeps((LOCK,), frames[:first])
    )


def _foreign(frames: Sequence[Frame]) -> Frame | None:
    """The caller that hands a bio to an unknown module and sleeps there, if any.

    Such a module is a disk's driver, or stacked on one, and blocks the submitter.
    """
    at = _first_caller(frames)
    if at >= len(frames) or _is_known(frames[at]):
        return None
    # /proc/PID/stack has no sleep functions (kernel/stacktrace.c omits .sched.text):
    # then the caller alone decides.
    if at and not _sleeps((IO,), frames[:at]):
        return None
    caller = next((frame for frame in frames[at:] if _is_known(frame)), None)
    return caller if caller and _DOWNWARDS.fullmatch(caller.symbol) else None


def classify_frames(frames: Sequence[Frame]) -> Verdict:
    """Classify a stack, innermost frame first."""
    known = _known(frames)
    for rule in OVERRIDES:
        for at, frame in enumerate(known):
            if _matches(rule.names, frame.symbol):
                return Verdict(rule.answer, _path(known, at), rule)
    if foreign := _foreign(frames):
        return Verdict(c.DEVICE_IO, _path(known, known.index(foreign)), FOREIGN)
    who = _first_caller(frames)
    unknown = who < len(frames) and not _is_known(frames[who])
    for at, frame in enumerate(known):
        for rule in _rules_of(frame.symbol):
            if _holds(rule, known, at, unknown):
                return Verdict(rule.answer, _path(known, at), rule)
    first = _first_caller(known)
    path = _path(known, first)
    if not unknown and _own_lock(known, first):
        return Verdict(c.FS_LOCK, path, OWN_LOCK)
    if _sleeps((IO,), known):
        return Verdict(c.DEVICE_IO, path, IOWAIT)
    return Verdict(c.OTHER, path)


def _first_caller(frames: Sequence[Frame]) -> int:
    """The index of the innermost frame that is not a sleep function."""
    for at, frame in enumerate(frames):
        if not is_sleep(frame.symbol):
            return at
    return len(frames)


def is_sleep(symbol: str) -> bool:
    """True for a function of sleeping: such a stack begins with one."""
    return bool(_SCHEDULE.fullmatch(symbol)) or _sleep_of(symbol) is not None


@lru_cache(maxsize=65536)
def is_timed(stack: tuple[str, ...]) -> bool:
    """True for a stack that sleeps with a time limit, and not for an I/O."""
    frames = parse_stack(stack)
    asleep = frames[: _first_caller(frames)]
    return _sleeps((TIMER,), asleep) and not _sleeps((IO,), asleep)


def first_caller(frames: Sequence[Frame]) -> str:
    """The innermost function that is not a sleep function, else the outermost."""
    at = _first_caller(frames)
    return frames[min(at, len(frames) - 1)].symbol if frames else ""


def says_who(frames: Sequence[Frame]) -> bool:
    """True if a known frame is not a sleep function."""
    known = _known(frames)
    return _first_caller(known) < len(known)


_SCHEDULE = re.compile(
    r"_*switch_to\w*|context_switch|wait_woken|_*schedule|__schedule_loop|_*cond_resched"
    # kernel/sched.c before 2.6.39; what x86 and i386 called out of line before 2.6.23.
    r"|thread_return|(interruptible_)?sleep_on(_timeout)?|_*(up|down)_failed\w*"
    r"|text\.lock\.\w+"
    r"|schedule_(preempt_disabled|rtlock\w*)|bit_wait\w*|_*wait_on_bit\w*"
    r"|out_of_line_wait_on_\w+|__wait_on_atomic_t|preempt_schedule\w*"
    # Clocks that are read on the way into a sleep; what they left lies on the stack
    # (kernel/delayacct.c delayacct_blkio_start(), kernel/sched/clock.c).
    r"|ktime_get\w*|kvm_clock_\w+|pvclock_\w+|read_tsc|(native_)?sched_clock\w*"
    r"|__?delayacct_\w+"
)
# Functions of file systems and their journals, for the path that is shown.
_FS = re.compile(
    r"_*(ext[234]|jbd2?|xfs|xlog|btrfs|f2fs|nfs[34]?|fuse|ceph|ocfs2|gfs2|cifs|nilfs"
    r"|reiserfs|jfs|ubifs|fat|exfat|ntfs|ovl|zfs|zpl|bch2|udf|hfs(plus)?)_\w+"
    r"|journal_\w+|do_get_write_access|add_transaction_credits|start_this_handle"
)
# Functions that submit bios; they call the block layer or a driver.
_DOWNWARDS = re.compile(
    _FS.pattern + r"|submit_\w+|_+submit_\w+|generic_make_request\w*|do_writepages"
    r"|mpage_\w+|iomap_\w+|blk\w+|_*block_\w+|write_\w+|_*sync_dirty_buffer"
)
# Wrappers and thread functions that a path leaves out.
_OMITTED = re.compile(
    r"_*(ext[34]_)?(jbd2_)?_*journal_get_\w*access|kjournald2?|\w+_file_write_iter"
    r"|ext[34]_reserve_inode_write|_*ext[34]_mark_inode_dirty"
    r"|\w+_buffered_write_iter|_*ext4_journal_start\w*|jbd2__?journal_start"
)


def _path(frames: Sequence[Frame], at: int) -> tuple[str, ...]:
    """The functions that show a wait, outermost first: the outermost of the file
    system, the nearest, and the function that decided."""
    if at >= len(frames):
        return ()
    outer = [frame.symbol for frame in frames[at + 1 :]]
    first = next((i for i, name in enumerate(outer) if _FS.fullmatch(name)), len(outer))
    run = []
    for name in outer[first:]:
        if not _FS.fullmatch(name):
            break
        if not _OMITTED.fullmatch(name):
            run.append(name)
    shown = [frames[at].symbol, *run[:1], *run[-1:]]
    return tuple(reversed(list(dict.fromkeys(shown))))


@lru_cache(maxsize=65536)
def classify(stack: tuple[str, ...]) -> Verdict:
    """Classify an event's `kstack`; `other` for an empty or unknown one."""
    return classify_frames(parse_stack(stack))


_COMMS = tuple((role, re.compile(text)) for role, text in COMMS)


def role_of(frames: Sequence[Frame], comm: str | None) -> str:
    """Tell a task's role from its functions, else from its name."""
    known = _known(frames)
    for rule in ROLES:
        if _any(rule.names, known) and (
            (not rule.callers or _any(rule.callers, known))
            and not (rule.not_callers and _any(rule.not_callers, known))
        ):
            return rule.answer
    for role_, pattern in _COMMS:
        if comm and pattern.fullmatch(comm):
            return role_
    return c.ROLE_OTHER


@lru_cache(maxsize=65536)
def role(stack: tuple[str, ...], comm: str | None) -> str:
    """Tell a task's role from an event's `kstack` and `comm`."""
    return role_of(parse_stack(stack), comm)
