# SPDX-License-Identifier: GPL-2.0-only
"""child_syncs: each request makes a child that syncs a log, and waits for its end.

Truth: the disk, for as long as the child was in write(2) and fsync(2).
"""

from __future__ import annotations

import json
import os
import time

from truths import Truths, has_time, opened, synced

truths = Truths()
log = opened("wal.log")
result, tell = os.pipe()
while has_time():
    start_ns = time.monotonic_ns()
    child = os.fork()
    if not child:
        os.write(tell, json.dumps(synced(log)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    truths.ended(start_ns)
    truths.calls.append(json.loads(os.read(result, 1000)))
    time.sleep(0.1)
truths.write()
