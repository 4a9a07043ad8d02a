# SPDX-License-Identifier: GPL-2.0-only
"""lock_of_sleeper: requests wait for a lock that a thread holds while it sleeps.

A third thread syncs a log all the time, which no request needs. Truth: no disk.
"""

from __future__ import annotations

import threading
import time

from truths import Truths, bystander, has_time

truths = Truths()
lock = threading.Lock()


def hold() -> None:
    while True:
        with lock:
            time.sleep(0.7)
        time.sleep(0.1)


bystander()
threading.Thread(target=hold, name="holder", daemon=True).start()
while has_time():
    start_ns = time.monotonic_ns()
    with lock:
        pass
    truths.ended(start_ns)
    time.sleep(0.05)
truths.write()
