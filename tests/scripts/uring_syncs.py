#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""uring_syncs: write and sync a file by io_uring, again and again.

usage: uring_syncs.py FOLDER [PAUSE_S]
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import time
from pathlib import Path

import asynchronous as aio

BYTES = 4096


def main() -> None:
    pause_s = float(sys.argv[2]) if sys.argv[2:] else 0
    fd = os.open(Path(sys.argv[1], "ring"), os.O_RDWR | os.O_CREAT)
    ring, buffer = aio.Ring(), ctypes.create_string_buffer(b"x" * BYTES, BYTES)
    print("ready", flush=True)
    for number in itertools.count():
        where = number % 256 * BYTES
        ring.do(aio.WRITE, fd, aio.address(buffer), BYTES, where)
        ring.do(aio.FSYNC, fd, 0, 0, 0)
        time.sleep(pause_s)


if __name__ == "__main__":
    main()
