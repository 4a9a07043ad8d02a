# SPDX-License-Identifier: GPL-2.0-only
"""confinement: let this process read the descriptors it is given, and nothing else.

Another user where CAP_SETUID allows it, no capabilities, no program to execute
(no_new_privs), bounds on memory and CPU time, and a filter of system calls by which no
file, socket or process can be opened (Documentation/userspace-api/seccomp_filter.rst).
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from contextlib import suppress

NOBODY = 65534
MEMORY_BYTES, CPU_S, LIFE_CPU_S = 144 << 20, 10, 120
LIMITS = (
    (resource.RLIMIT_AS, MEMORY_BYTES),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NOFILE, 32),
)
# include/uapi/linux/prctl.h, capability.h, seccomp.h, audit.h
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
CAPABILITY_VERSION_3 = 0x20080522
RET_ALLOW, RET_EPERM = 0x7FFF0000, 0x00050001
# include/uapi/linux/bpf_common.h: BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ, BPF_RET
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
INSTRUCTION = struct.Struct("=HBBI")
NUMBER_AT, ARCH_AT = 0, 4  # struct seccomp_data


# Of each machine, the architecture of audit, and the number of capset(2).
MACHINES = {"x86_64": (0xC000003E, 126), "aarch64": (0xC00000B7, 91)}
# The system calls that are needed, by their numbers on these machines, in that order:
# arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
ALLOWED = {
    **{"read": (0, 63), "write": (1, 64), "close": (3, 57), "pread64": (17, 67)},
    **{"mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214)},
    **{"mremap": (25, 216), "madvise": (28, 233), "rt_sigaction": (13, 134)},
    **{"rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139)},
    **{"sched_yield": (24, 124), "futex": (202, 98), "restart_syscall": (219, 128)},
    **{"clock_gettime": (228, 113), "sendto": (44, 206), "recvmsg": (47, 212)},
    **{"getrusage": (98, 165), "setrlimit": (160, 164), "prlimit64": (302, 261)},
    **{"getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94)},
}


class _Program(ctypes.Structure):
    """struct sock_fprog of include/uapi/linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def confine() -> None:
    """Give up all rights for good. Raises OSError where that cannot be had."""
    for which, most in LIMITS:
        resource.setrlimit(which, (most, most))
    bound_cpu()
    another = _become_nobody()
    libc = ctypes.CDLL(None, use_errno=True)
    machine = os.uname().machine
    audit_arch, capset = MACHINES[machine]
    place = list(MACHINES).index(machine)
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    _check(libc.syscall(capset, header, bytes(24)))
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    code = _filter(audit_arch, [row[place] for row in ALLOWED.values()])
    program = _Program(len(code) // INSTRUCTION.size, code)
    try:
        filtering = PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        _check(libc.prctl(*filtering, ctypes.byref(program), 0, 0))
    except OSError:  # a kernel without CONFIG_SECCOMP_FILTER
        if not another:
            raise


def bound_cpu() -> None:
    """Let this process use 10 s of CPU from now on; then SIGXCPU ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    used_s = int(used.ru_utime + used.ru_stime)
    soft_s = min(used_s + CPU_S, LIFE_CPU_S)
    resource.setrlimit(resource.RLIMIT_CPU, (soft_s, LIFE_CPU_S))


def _become_nobody() -> bool:
    """Whether this process has no longer the files of root's user."""
    if os.geteuid():
        return True
    with suppress(PermissionError):  # a service without CAP_SETUID, CAP_SETGID
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    return os.geteuid() != 0


def _filter(audit_arch: int, numbers: list[int]) -> bytes:
    """Allow these calls; EPERM for all others, and for another architecture."""
    rows = [
        (LOAD, 0, 0, ARCH_AT),
        (JUMP_IF_EQUAL, 1, 0, audit_arch),
        (RETURN, 0, 0, RET_EPERM),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    for at, number in enumerate(numbers):
        rows.append((JUMP_IF_EQUAL, len(numbers) - at, 0, number))
    rows += [(RETURN, 0, 0, RET_EPERM), (RETURN, 0, 0, RET_ALLOW)]
    return b"".join(INSTRUCTION.pack(*row) for row in rows)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
