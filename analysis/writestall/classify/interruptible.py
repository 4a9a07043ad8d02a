# SPDX-License-Identifier: GPL-2.0-only
"""interruptible: classify the interruptible sleeps of a program by their functions.

Such a sleep is a wait for another task of user space, for a message, or for a time. The
innermost function that a row names decides; names hold for Linux 4.4 to 7.2.
"""

from __future__ import annotations

import re
from functools import lru_cache

from writestall.classify.cxx_names import source_name
from writestall.classify.frames import parse_stack
from writestall.classify.stack import Verdict
from writestall.events.contract import Stack
from writestall_base import wait_classes as c

_CLASSES: tuple[tuple[str, str], ...] = (
    # kernel/futex/, before 5.16 kernel/futex.c; ipc/sem.c
    (c.USER_LOCK, r"_*futex_\w+|do_futex|_*do_semtimedop"),
    # fs/locks.c
    (c.FILE_LOCK, r"(flock|posix|locks)_lock_inode_wait|fcntl_setlk\w*"),
    # kernel/exit.c
    (c.CHILD_EXIT, r"do_wait|kernel_wait(4|id)"),
    # kernel/time/hrtimer.c, kernel/time/alarmtimer.c
    (c.TIMER, r"do_nanosleep|hrtimer_nanosleep|alarm_timer_nsleep"),
    # io_uring/io_uring.c, before 6.0 fs/io_uring.c; fs/aio.c
    (c.DEVICE_IO, r"io_cqring_wait\w*|(do_io_getevents|read_events)"),
    # fs/pipe.c, fs/eventpoll.c, fs/select.c, fs/eventfd.c, fs/fifo.c; net/, ipc/
    (
        c.MESSAGE,
        r"(anon_)?(pipe|fifo)_(read|write|wait\w*|open)|wait_for_partner|(do_)?ep(oll)?_\w+"
        r"|do_(sys_)?p?poll\w*|do_select|core_sys_select|eventfd_read|\w*_(recv|send)msg"
        r"|sk_\w+|sock_\w+|unix_\w+|\w*skb_wait\w*|inet_csk_\w+|do_(msg|mq_timed)\w+"
        r"|wq_sleep|\w*_accept\w*",
    ),
)
_PATTERNS = tuple((cls, re.compile(names)) for cls, names in _CLASSES)
# fs/eventpoll.c, fs/select.c, io_uring/io_uring.c: what an event loop sleeps in.
_OF_A_LOOP = re.compile(r"(do_)?ep(oll)?_\w+|do_select|core_sys_select|io_cqring_\w+")
# net/socket.c: a message on this host wakes its reader within the sender's call, in a
# softirq where it goes through the loopback device (drivers/net/loopback.c).
_SENDS = re.compile(r"_*sys_send\w*|\w*_sendmsg\w*|sock_(sendmsg|write_iter)\w*")
# A named frame of a program; what the C library does, the kernel's functions show.
_CALLER = re.compile(
    r"(?!0x)(.+)\+0x[0-9a-f]+ \[(?!\1\]|(?:libc|libpthread|ld-)[^a-z])"
)
MOST_CALLERS = 2
# The lock that a thread of CPython has while it runs Python code, and its conditions
# (CPython, Python/ceval_gil.c, take_gil(), drop_gil()), in the variable _PyRuntime
# (Python/pylifecycle.c). Whoever ends a wait for it had it, or took it in turn.
GIL = "the GIL of CPython"
_LOCKS = {"_PyRuntime": GIL}


@lru_cache(maxsize=65536)
def classify(stack: Stack, user: Stack = (), lock: str | None = None) -> Verdict:
    """The class of an interruptible sleep, and the function that shows it behind those
    of the program that wait there, as far as their names are known; `lock` is the
    variable that its futex is in, and stands in the function's place."""
    for frame in parse_stack(stack):
        for cls, pattern in _PATTERNS:
            if pattern.fullmatch(frame.symbol):
                return Verdict(cls, (*callers(user), _lock(lock) or frame.symbol))
    return Verdict(c.EVENT, callers(user))


def callers(user: Stack) -> tuple[str, ...]:
    """The innermost functions of a program in a user stack, the last one innermost."""
    found = [source_name(match[1]) for match in map(_CALLER.match, user) if match]
    return tuple(reversed(found[:MOST_CALLERS]))


def _lock(variable: str | None) -> str | None:
    """The name of a lock, by the variable that it is in; None where none has a name."""
    found = _CALLER.match(variable or "")
    return _LOCKS.get(found[1], source_name(found[1])) if found else None


def is_gil(path: tuple[str, ...]) -> bool:
    """Whether a sleep is a wait for the lock of a Python interpreter."""
    return path[-1:] == (GIL,)


def is_of_a_loop(path: tuple[str, ...]) -> bool:
    """Whether a sleep, by its innermost function, waits for any of several things."""
    return any(_OF_A_LOOP.fullmatch(name) for name in path[-1:])


@lru_cache(maxsize=65536)
def sends(stack: Stack) -> bool:
    """Whether a waker's stack is that of a task that sends a message."""
    return any(_SENDS.fullmatch(frame.symbol) for frame in parse_stack(stack))
