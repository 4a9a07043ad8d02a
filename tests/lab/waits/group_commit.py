# SPDX-License-Identifier: GPL-2.0-only
"""group_commit: four threads hand requests to one that syncs for all of them.

Each request is put into a queue and waits for an event of its own. Truth: the disk,
for as long as the committer was in write(2) and fsync(2) meanwhile.
"""

from __future__ import annotations

import queue
import threading
import time

from truths import Truths, has_time, in_threads, opened, synced

truths = Truths()
requests: queue.Queue[threading.Event] = queue.Queue()


def commit() -> None:
    log = opened("wal.log")
    while True:
        batch = [requests.get()]
        while not requests.empty():
            batch.append(requests.get())
        truths.calls.append(synced(log))
        for done in batch:
            done.set()


def request(_: int) -> None:
    while has_time():
        start_ns, done = time.monotonic_ns(), threading.Event()
        requests.put(done)
        done.wait()
        truths.ended(start_ns)
        time.sleep(0.2)


threading.Thread(target=commit, name="committer", daemon=True).start()
in_threads(4, request)
truths.write()
