# SPDX-License-Identifier: GPL-2.0-only
"""asynchronous: use io_uring and AIO by their system calls.

Numbers and layouts are those of x86-64 (include/uapi/linux/io_uring.h, aio_abi.h)."""

from __future__ import annotations

import ctypes
import mmap
import struct
from dataclasses import dataclass, field
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209
URING_SETUP, URING_ENTER, URING_REGISTER = 425, 426, 427
WRITEV, FSYNC, WRITE_FIXED, READ, WRITE = 2, 3, 5, 22, 23  # IORING_OP_
PREAD, PWRITE, AIO_FSYNC, AIO_FDSYNC, PWRITEV = 0, 1, 2, 3, 8  # IOCB_CMD_
GETEVENTS = 1  # IORING_ENTER_
REGISTER_BUFFERS = 0  # IORING_
SQES = 0x10000000  # IORING_OFF_


def call(number: int, *arguments: object) -> int:
    """A system call that must succeed."""
    done: int = LIBC.syscall(ctypes.c_long(number), *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return done


def vector(parts: list[bytes]) -> tuple[ctypes.Array[ctypes.c_ulong], list[object]]:
    """struct iovec[], and what it points at."""
    buffers = [ctypes.create_string_buffer(part, len(part)) for part in parts]
    words = [w for b in buffers for w in (ctypes.addressof(b), len(b))]
    return (ctypes.c_ulong * len(words))(*words), [*buffers]


def address(thing: Any) -> int:
    """The address of a ctypes object."""
    return ctypes.addressof(thing)


class Ring:
    """An io_uring of eight entries; one request at a time."""

    def __init__(self) -> None:
        params = ctypes.create_string_buffer(120)
        self._fd = call(URING_SETUP, 8, params)
        words = struct.unpack("30I", params.raw)
        self._head, self._tail, self._mask = words[10:13]
        self._array, self._cqes = words[16], words[25]
        self._cq_head = words[20]
        self._rings = mmap.mmap(self._fd, 4096)
        self._sqes = mmap.mmap(self._fd, 8 * 64, offset=SQES)

    def register(self, buffer: object, size: int) -> None:
        """Make this buffer number 0."""
        iov = (ctypes.c_ulong * 2)(address(buffer), size)
        call(URING_REGISTER, self._fd, REGISTER_BUFFERS, iov, 1)

    def do(self, op: int, fd: int, at: int, length: int, offset: int) -> int:
        """Submit one request and wait for it; its result."""
        tail = self._word(self._tail)
        place = tail & self._word(self._mask)
        sqe = struct.pack("BBHiQQIIQHHiQQ", op, 0, 0, fd, offset, at, length, *[0] * 7)
        self._sqes[place * 64 : place * 64 + 64] = sqe
        self._set(self._array + 4 * place, place)
        self._set(self._tail, tail + 1)
        call(URING_ENTER, self._fd, 1, 1, GETEVENTS, None, 0)
        head = self._word(self._cq_head)
        self._set(self._cq_head, head + 1)
        cqe = self._cqes + 16 * (head & 15)
        (result,) = struct.unpack_from("i", self._rings, cqe + 8)
        return int(result)

    def _word(self, at: int) -> int:
        return int(struct.unpack_from("I", self._rings, at)[0])

    def _set(self, at: int, value: int) -> None:
        struct.pack_into("I", self._rings, at, value)


@dataclass(frozen=True)
class Iocb:
    """An AIO request; `at` is an address, or 0."""

    op: int
    fd: int
    at: int = 0
    length: int = 0
    offset: int = 0
    raw: ctypes.Array[ctypes.c_char] = field(init=False)

    def __post_init__(self) -> None:
        packed = struct.pack(
            "QIiHhIQQqQII",
            *(0, 0, 0, self.op, 0, self.fd, self.at, self.length, self.offset, 0, 0, 0),
        )
        object.__setattr__(self, "raw", ctypes.create_string_buffer(packed, 64))


def submit(iocbs: list[Iocb]) -> list[int]:
    """Pass them to one io_submit(2) and wait; return their results."""
    context = ctypes.c_ulong(0)
    call(IO_SETUP, len(iocbs), ctypes.byref(context))
    pointers = (ctypes.c_ulong * len(iocbs))(*(address(i.raw) for i in iocbs))
    taken = call(IO_SUBMIT, context, ctypes.c_long(len(iocbs)), pointers)
    events = (ctypes.c_long * (4 * taken))()
    count = ctypes.c_long(taken)
    call(IO_GETEVENTS, context, count, count, events, None)
    return [events[4 * i + 2] for i in range(taken)]
