# SPDX-License-Identifier: GPL-2.0-only
"""owners: read what the kernel says about locks and their owners.

kernel/hung_task.c debug_show_blocker() names the owner of the lock that a hung task
waits for: of a mutex since 6.16, of semaphores and rw-semaphores since 6.17.
kernel/locking/lockdep.c print_lock() lists the locks of a task, at the end of a round
of hung-task reports, or for sysrq d. It lists the lock that is still waited for as
well, and lists it last: lock_acquire() comes before the wait.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from writestall.classify.frames import of_log
from writestall.log.times import Time, time_of

MUTEX, SEMAPHORE, RW_SEMAPHORE = "mutex", "semaphore", "rw-semaphore"
GLOCK = "glock"
# fs/gfs2/glock.c gfs2_dump_glock(), dump_holder(), hflags2str(): H holds, W waits.
_GLOCK = re.compile(r"^\s{0,4}G:\s{1,4}s:\w\w n:")
_HOLDER = re.compile(
    r"^\s{0,4}H: s:\w\w f:(?P<flags>\w{0,16}) e:-?\d{1,4} p:(?P<pid>\d{1,10}) "
    r"\[(?P<comm>.{1,20})\]"
)
_TASK = (
    r"INFO: task (?P<waiter>.{1,32}):(?P<pid>\d{1,10}) "
    r"(?:<(?:reader|writer)> )?(?:is )?"
)
_BLOCKED = re.compile(_TASK + r"blocked on\b")
_BLOCKER = re.compile(
    _TASK + r"blocked on an? (?P<lock>mutex|semaphore|rw-semaphore)\b"
    r"(?:, but the (?:owner|last holder) is not found"
    r"| likely (?:owned|last held) by (?:reader |writer )?"
    r"task (?P<comm>.{1,32}):(?P<owner>\d{1,10})(?: <(?P<by>reader|writer)>)?)"
)
_LIST = re.compile(r"\b\d{1,3} locks? held by (?P<comm>.{1,32})/(?P<pid>\d{1,10}):")
# Before 4.15 no address stands before the class.
_HELD = re.compile(
    r"#\d{1,3}:\s{1,4}(?:(?P<address>[0-9a-f]{8,16})\s{0,4})?\((?P<name>.{1,120})\)"
    r"\s{0,2}\{(?P<usage>[^}]{0,40})\}.{0,16}?, at: (?:\[<[0-9a-f]{8,16}>\] )?"
    r"(?P<at>[A-Za-z_][\w.]*)"
)
# An entry that a mailer cut: `at:` and the function are on one of the next lines.
_HELD_CUT = re.compile(r"^\s{0,4}#\d{1,3}:(?:\s{1,4}[0-9a-f(]|\s{0,4}$)")
_HELD_LINES = 3
# The number stands on the line before, of the first of the functions inlined there.
_HELD_BARE = re.compile(r"^\s{0,4}[0-9a-f]{8,16} \(")
_NO_PIECE = re.compile(r"INFO: |\btask:|[Tt]race:|^[\s=]*$")
_TURNED_OFF = re.compile(r"INFO: lockdep is turned off\.")


@dataclass(frozen=True, slots=True)
class Blocker:
    """The line about the lock that task `pid` waits for; `owner` is its owner's pid.

    `owner` is None where the kernel did not find it. `by`: `reader` or `writer`. A dump
    of glocks tells no `waiter`, the name of task `pid`.
    """

    line: int
    pid: int
    lock: str
    comm: str | None = None
    owner: int | None = None
    by: str | None = None
    time: Time | None = None
    waiter: str | None = None

    @property
    def is_hint(self) -> bool:
        """True where who is named may have released it: a semaphore's last holder
        (kernel/locking/semaphore.c), one of the last readers (rwsem.c), who had a
        glock when they were listed."""
        return self.lock in (SEMAPHORE, GLOCK) or self.by == "reader"

    @property
    def why(self) -> str:
        """What the kernel says, for the answer."""
        if self.lock == SEMAPHORE:
            return "the kernel names it as the semaphore's last holder"
        if self.lock == GLOCK:
            return "a dump of glocks lists it as the holder"
        if self.by == "reader":
            return "the kernel names it as a reader that owns the rw-semaphore"
        return f"the kernel names it as the {self.lock}'s owner"


@dataclass(frozen=True, slots=True)
class Held:
    """One entry of a list of locks: the lock's class, and the function that took it.

    `shared`: some have taken a lock of that class for reading.
    """

    address: str | None
    name: str
    at: str
    shared: bool = True

    def is_same(self, other: Held) -> bool:
        """True for one lock, as far as lists show: by address, else by class."""
        if self.address is None or other.address is None:
            return self.name == other.name
        return self.address == other.address


@dataclass(slots=True)
class LockList:
    """The locks of one task."""

    line: int
    comm: str
    pid: int
    locks: list[Held]
    time: Time | None = None

    def names(self) -> set[str]:
        """Its locks' identities: the address, without one the class."""
        return {held.address or held.name for held in self.locks}


class LockLines:
    """Collects the lines about locks; any other line is left to the caller."""

    def __init__(self) -> None:
        self.blockers: list[Blocker] = []
        self.lists: list[LockList] = []
        self.turned_off = False
        self._cut = ""
        self._held: list[str] = []
        # Of the glock that is listed: its holder, and who waits for it.
        self._holder: tuple[int, str] | None = None
        self._waiters: list[tuple[int, int]] = []

    @property
    def is_cut(self) -> bool:
        """True when the next line may belong to the one before."""
        return bool(self._held)

    def line(self, number: int, body: str, stamp: str = "") -> bool:
        """True when a line was about locks; `stamp` has its time."""
        whole = f"{self._cut} {body.strip()}" if self._cut else body
        self._cut = ""
        if match := _BLOCKER.search(whole):
            groups, owner = match.groupdict(), match["owner"]
            self.blockers.append(
                Blocker(
                    number,
                    int(match["pid"]),
                    match["lock"],
                    groups["comm"],
                    int(owner) if owner else None,
                    groups["by"],
                    time_of(stamp),
                    groups["waiter"],
                )
            )
            return True
        if _BLOCKED.search(body):
            # Cut by a mailer: the owner is on the next line.
            self._cut = body.rstrip()
            return True
        return self._glock(number, body) or self._lock_list(number, body, stamp)

    def _glock(self, number: int, body: str) -> bool:
        """True for a line of a dump of glocks that names a task."""
        if _GLOCK.match(body):
            self._holder, self._waiters = None, []
            return False
        match = _HOLDER.match(body)
        if match is None:
            return False
        pid = int(match["pid"])
        if "H" in match["flags"]:
            self._holder = self._holder or (pid, match["comm"])
        elif "W" in match["flags"]:
            self._waiters.append((number, pid))
        if self._holder:
            owner, comm = self._holder
            self.blockers += [
                Blocker(at, waiter, GLOCK, comm, owner) for at, waiter in self._waiters
            ]
            self._waiters = []
        return True

    def _lock_list(self, number: int, body: str, stamp: str) -> bool:
        if match := _LIST.search(body):
            entry = LockList(
                number, match["comm"], int(match["pid"]), [], time_of(stamp)
            )
            self.lists.append(entry)
            self._held = []
            return True
        if self.lists and _HELD_BARE.match(body):
            return self._entry(f"#0: {body.strip()}")
        if self.lists and (self._held or _HELD_CUT.search(body)):
            return self._entry(body)
        self.turned_off = self.turned_off or bool(_TURNED_OFF.search(body))
        return False

    def _entry(self, body: str) -> bool:
        """True for an entry of a list of locks, or a piece of one."""
        if _HELD_CUT.search(body):
            self._held = []
        elif _NO_PIECE.search(body):
            self._held = []
            return False
        self._held.append(body.strip())
        match = _HELD.search(" ".join(self._held))
        if match is None and len(self._held) < _HELD_LINES:
            return True
        self._held = []
        if match:
            at = of_log(match["at"]).symbol
            # kernel/locking/lockdep.c get_usage_chars(): the second of a pair is reads.
            shared = match["usage"][1::2].strip(".") != ""
            held = Held(match["address"], match["name"], at, shared)
            self.lists[-1].locks.append(held)
        return match is not None
