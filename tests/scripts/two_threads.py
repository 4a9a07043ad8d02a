#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""two_threads: append to a log in one thread, write and sync a file in the other.

usage: two_threads.py FOLDER

Both keep to a schedule; the second also replaces a small file now and then. Prints a
line once they have begun.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

APPEND_S, SYNC_S = 0.01, 0.1
BLOCK = b"b" * 4096
BLOCKS = 256
REPLACED_EVERY = 10


def on_schedule(period_s: float, call: Callable[[int], object]) -> None:
    begun_s, turn = time.monotonic(), 0
    while True:
        call(turn)
        turn += 1
        time.sleep(max(0.0, begun_s + turn * period_s - time.monotonic()))


def appending(folder: Path) -> None:
    log = os.open(folder / "app.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    on_schedule(APPEND_S, lambda _: os.write(log, b"a" * 200))


def syncing(folder: Path) -> None:
    table = os.open(folder / "app.table", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(table, BLOCK * BLOCKS, 0)

    def put(turn: int) -> None:
        os.pwrite(table, BLOCK, turn * 37 % BLOCKS * len(BLOCK))
        os.fsync(table)
        if turn % REPLACED_EVERY == 0:
            new = folder / "app.state.new"
            new.write_bytes(BLOCK[:1000])
            new.rename(folder / "app.state")

    on_schedule(SYNC_S, put)


def main() -> None:
    folder = Path(sys.argv[1])
    for body in (appending, syncing):
        threading.Thread(target=body, args=(folder,), daemon=True).start()
    time.sleep(1)
    print("writing", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
