# SPDX-License-Identifier: GPL-2.0-only
"""unload: unload a module by name; print the ms that its delete_module(2) took."""

import ctypes
import os
import platform
import sys
import time

DELETE_MODULE = {"x86_64": 176, "aarch64": 106}[platform.machine()]


def main() -> None:
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    start_ns = time.monotonic_ns()
    failed = syscall(DELETE_MODULE, sys.argv[1].encode(), os.O_NONBLOCK)
    took_ns = time.monotonic_ns() - start_ns
    if failed:
        sys.exit(f"delete_module: {os.strerror(ctypes.get_errno())}")
    print(took_ns // 1_000_000)


main()
