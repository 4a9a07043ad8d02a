#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""many_threads: a thousand threads that sleep again and again, and one that syncs.

usage: many_threads.py FOLDER
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

THREADS, SLEEP_S = 1000, 0.5
STACK_BYTES = 64 << 10


def sleeper() -> None:
    while True:
        time.sleep(SLEEP_S)


def main() -> None:
    log = os.open(Path(sys.argv[1], "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    threading.stack_size(STACK_BYTES)
    for _ in range(THREADS):
        threading.Thread(target=sleeper, daemon=True).start()
    print("ready", flush=True)
    while True:
        os.write(log, b"x" * 200)
        os.fsync(log)


if __name__ == "__main__":
    main()
