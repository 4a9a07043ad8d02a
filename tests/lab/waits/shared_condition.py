# SPDX-License-Identifier: GPL-2.0-only
"""shared_condition: requests wait for a price, by a condition that has another user.

A thread finds the price in 700 ms of sleep. Another one syncs a log all the time, which
no request needs, and notifies the same condition after each entry. Truth: no disk.
"""

from __future__ import annotations

import threading
import time

from truths import Truths, has_time, opened, synced

truths = Truths()
changed = threading.Condition()
prices = 0


def find() -> None:
    global prices
    while True:
        time.sleep(0.7)
        with changed:
            prices += 1
            changed.notify_all()


def audit() -> None:
    log = opened("audit.log")
    while True:
        synced(log)
        with changed:
            changed.notify_all()


for function in (find, audit):
    threading.Thread(target=function, name=function.__name__, daemon=True).start()
while has_time():
    start_ns = time.monotonic_ns()
    with changed:
        wanted = prices + 2
        changed.wait_for(lambda: prices >= wanted)  # noqa: B023
    truths.ended(start_ns)
    time.sleep(0.05)
truths.write()
