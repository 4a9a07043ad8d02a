# SPDX-License-Identifier: GPL-2.0-only
"""any_lock: who can hold a lock that no rule knows: who is in its function, or module.

These are asked last.
"""

from __future__ import annotations

from dataclasses import replace

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_SLEEPS = names(
    "*mutex_lock* *down_read* *down_write* rwsem_down_* __down* down percpu_rwsem_wait"
)
_OF_FUNCTION = perhaps(
    "it is further inside the function that takes the lock",
    "include/linux/mutex.h: who is past mutex_lock() in a function holds the lock "
    "while it calls others",
    names("*"),
    lock="a lock of one function",
    of=_SLEEPS,
    not_of=names("gfs2_glock_* *ocfs2_*_lock* dlm_lock*"),
    # fs/super.c: those of s_umount are in superblocks.
    not_caller=names(
        "lock_acquire __lock_acquire lock_acquired freeze_super *sys_fsconfig"
    ),
    not_in=(c.DIRTY_THROTTLE, c.JOURNAL_SPACE),
    same_function=True,
)
_OF_MODULE = perhaps(
    "it is inside the module whose function takes the lock",
    "include/linux/mutex.h: a driver's lock is known to its own module alone",
    names("*"),
    lock="a lock of one module",
    stacked=True,
    same_module=True,
)
_BY_SLEEP = replace(_OF_FUNCTION, shared=names("*"))
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.FS_LOCK: (_OF_FUNCTION,),
    c.OTHER: (_BY_SLEEP, _OF_MODULE),
    c.RAID_OR_DM: (_BY_SLEEP, _OF_MODULE),
    c.BLOCK_QUEUE: (_BY_SLEEP, _OF_MODULE),
    c.DEVICE_IO: (_BY_SLEEP, _OF_MODULE),
}
