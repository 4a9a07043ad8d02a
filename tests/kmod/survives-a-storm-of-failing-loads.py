#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will load the module again and again, every other load one that fails,
while processes make rules, write to them, and open the module's files, without a
complaint of the kernel.

Arguments: the module, a scratch disk, failing loads (40).
"""

# expects: biodelay: no device: set device=

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

MODULE = Path(sys.argv[1])
FAILING = int(sys.argv[3]) if len(sys.argv) > 3 else 40
SYSCALL = ctypes.CDLL(None, use_errno=True).syscall
FINIT_MODULE, DELETE_MODULE = {"x86_64": (313, 176), "aarch64": (273, 106)}[
    platform.machine()
]
RULES = Path("/sys/kernel/config/biodelay")
FILES = Path("/sys/kernel/debug/biodelay")
PARAMETERS = Path("/sys/module/biodelay/parameters")
UNLOADED_WITHIN_S = 30


def call(number: int, *arguments: object) -> int:
    """A system call; its errno, or 0."""
    return ctypes.get_errno() if SYSCALL(number, *arguments) else 0


def makes_rules() -> None:
    rule = RULES / "stormed"
    with contextlib.suppress(OSError):
        rule.mkdir()
        (rule / "order").write_text("9")
    with contextlib.suppress(OSError):
        rule.rmdir()


def opens_files() -> None:
    with contextlib.suppress(OSError), (FILES / "record").open("rb") as record:
        record.read(4096)
        (FILES / "status").read_bytes()


def writes_parameters() -> None:
    with contextlib.suppress(OSError):
        (PARAMETERS / "order").write_text("9")


def again_and_again(work: Callable[[], None]) -> int:
    """A process that does it until it is killed; its id."""
    child = os.fork()
    while not child:
        work()
    return child


def load(parameters: bytes) -> int:
    with MODULE.open("rb") as file:
        return call(FINIT_MODULE, file.fileno(), parameters, 0)


def unload() -> None:
    deadline_s = time.monotonic() + UNLOADED_WITHIN_S
    while failed := call(DELETE_MODULE, b"biodelay", os.O_NONBLOCK):
        assert failed in (errno.EAGAIN, errno.EBUSY), os.strerror(failed)
        assert time.monotonic() < deadline_s, "it is never unused"
        with contextlib.suppress(OSError):
            (RULES / "stormed").rmdir()


def main() -> None:
    storm = [makes_rules, makes_rules, opens_files, opens_files, writes_parameters]
    children = [again_and_again(work) for work in storm]
    try:
        for _ in range(FAILING):
            failed = load(b"enabled=1")
            assert failed == errno.EDESTADDRREQ, os.strerror(failed)
            assert not load(b""), "the module does not load any more"
            unload()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
    print(f"{FAILING} failed loads, {FAILING} good ones")


main()
