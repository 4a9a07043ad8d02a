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
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Calls:
    """The system calls of an architecture that are needed, by their numbers."""

    audit_arch: int
    capset: int
    allowed: dict[str, int]


# arch/x86/entry/syscalls/syscall_64.tbl
X86_64 = {
    **{"read": 0, "write": 1, "close": 3, "pread64": 17},
    **{"mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "mremap": 25, "madvise": 28},
    **{"rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15},
    **{"sched_yield": 24, "futex": 202, "restart_syscall": 219, "clock_gettime": 228},
    **{"sendto": 44, "recvmsg": 47, "getrusage": 98, "setrlimit": 160},
    **{"prlimit64": 302, "getrandom": 318, "exit": 60, "exit_group": 231},
}
# include/uapi/asm-generic/unistd.h
AARCH64 = {
    **{"read": 63, "write": 64, "close": 57, "pread64": 67, "mmap": 222},
    **{"mprotect": 226, "munmap": 215, "brk": 214, "mremap": 216, "madvise": 233},
    **{"rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139},
    **{"sched_yield": 124, "futex": 98, "restart_syscall": 128, "clock_gettime": 113},
    **{"sendto": 206, "recvmsg": 212, "getrusage": 165, "setrlimit": 164},
    **{"prlimit64": 261, "getrandom": 278, "exit": 93, "exit_group": 94},
}
CALLS = {
    "x86_64": Calls(0xC000003E, 126, X86_64),
    "aarch64": Calls(0xC00000B7, 91, AARCH64),
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
    calls = CALLS[os.uname().machine]
    header = struct.pack("=Ii", CAPABILITY_VERSION_3, 0)
    _check(libc.syscall(calls.capset, header, bytes(24)))
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    code = _filter(calls)
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


def _filter(calls: Calls) -> bytes:
    """Allow the listed calls; EPERM for all others, and for another architecture."""
    numbers = sorted(calls.allowed.values())
    rows = [
        (LOAD, 0, 0, ARCH_AT),
        (JUMP_IF_EQUAL, 1, 0, calls.audit_arch),
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
