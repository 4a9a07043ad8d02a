# SPDX-License-Identifier: GPL-2.0-only
"""callees: find the functions that a function of the running kernel calls.

The calls are read from the kernel's own text (/proc/kcore, an ELF core file): a
relative call or jump whose target is the first byte of a function. Calls through
pointers are not seen there; those that slept are on the stacks.
"""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from launcher.errors import TraceError
from writestall_base.elf import PT_LOAD, Elf

KALLSYMS = Path("/proc/kallsyms")
KCORE = Path("/proc/kcore")
TRACEABLE = Path("/sys/kernel/tracing/available_filter_functions")
MAX_CODE_BYTES = 64 * 1024
MOST_SEGMENTS = 4096
# Called very often, and never what a slow call waits in: not worth a probe.
TRIVIAL = re.compile(r"_raw_|__?rcu_|preempt_|__?might_|__kmalloc|kmem_cache_|kfree\b")


class Text:
    """The functions of the running kernel and their code; only root can read them."""

    def __init__(self) -> None:
        self._address: dict[str, int] = {}
        self._name: dict[int, str] = {}
        seen: set[str] = set()
        for line in KALLSYMS.read_text().splitlines():
            address, kind, name = line.split()[:3]
            if kind not in "tTwW":
                continue
            self._name.setdefault(int(address, 16), name)
            if name in seen:  # the name is ambiguous
                self._address.pop(name, None)
            else:
                seen.add(name)
                self._address[name] = int(address, 16)
        self._starts = sorted(self._name)
        if not self._starts or not self._starts[-1]:
            raise TraceError("the kernel hides its addresses: run it as root")
        self._traceable = _traceable()

    def known(self, function: str) -> bool:
        """Return True for a name that only one function has."""
        return function in self._address

    def traceable(self, function: str) -> bool:
        """Return True for a function that ftrace can patch: a probe is cheap and safe.

        `inline` functions are not, even where they stand alone
        (include/linux/compiler_types.h).
        """
        return self.known(function) and function in self._traceable

    def callees(self, functions: Iterable[str]) -> Iterator[str]:
        """Yield the functions that these call and that can be probed, nearest first."""
        found: dict[str, None] = {}
        with KCORE.open("rb") as kcore:
            segments = Elf.of_file(kcore.fileno()).segments(PT_LOAD, MOST_SEGMENTS)
            for function in functions:
                if function in self._address:
                    for name in self._called(kcore.fileno(), segments, function):
                        found.setdefault(name)
        return iter(found)

    def _called(
        self, kcore: int, segments: list[tuple[int, int, int]], function: str
    ) -> Iterator[str]:
        start = self._address[function]
        place = bisect_right(self._starts, start)
        end = self._starts[place] if place < len(self._starts) else start
        for target in targets(_code(kcore, segments, start, end), start):
            name = self._name.get(target)
            other = name and target != start and self.traceable(name)
            if name and other and not TRIVIAL.match(name):
                yield name


def _traceable() -> set[str]:
    try:
        return {line.split()[0] for line in TRACEABLE.read_text().splitlines()}
    except OSError as error:
        raise TraceError(
            f"{TRACEABLE}: {error.strerror}; mount tracefs, or name --functions"
        ) from error


def _code(
    kcore: int, segments: list[tuple[int, int, int]], start: int, end: int
) -> bytes:
    size = min(end - start, MAX_CODE_BYTES)
    for place, length, address in segments:
        if address <= start and start + size <= address + length:
            return os.pread(kcore, size, place + start - address)
    return b""


def _targets_x86(code: bytes, start: int) -> Iterator[int]:
    """Yield the targets of `call rel32` (e8) and `jmp rel32` (e9) at any byte.

    Instructions are not decoded: a byte inside another one passes for a call only
    where it happens to point at a function's first byte.
    """
    for at in range(len(code) - 4):
        if code[at] in (0xE8, 0xE9):
            (distance,) = struct.unpack_from("<i", code, at + 1)
            yield start + at + 5 + distance


def _targets_arm64(code: bytes, start: int) -> Iterator[int]:
    """Yield the targets of `bl` (0x25) and `b` (0x05): 26 bits, signed, in words."""
    for at in range(0, len(code) - 3, 4):
        (word,) = struct.unpack_from("<I", code, at)
        if word >> 26 in (0x25, 0x05):
            words = (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)
            yield start + at + words * 4


_TARGETS = {"x86_64": _targets_x86, "aarch64": _targets_arm64}


def targets(code: bytes, start: int, machine: str | None = None) -> Iterator[int]:
    """Return the addresses that code may call or jump to; it begins at `start`."""
    machine = machine or os.uname().machine
    if machine not in _TARGETS:
        raise TraceError(f"machine code of {machine} cannot be read: give --functions")
    return _TARGETS[machine](code, start)
