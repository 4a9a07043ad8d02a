# SPDX-License-Identifier: GPL-2.0-only
"""request_computes: requests allocate and collect garbage for 700 ms of CPU time.

Another thread syncs a log all the time, which no request needs. Truth: no disk.
"""

from __future__ import annotations

import gc
import time

from truths import Truths, bystander, has_time

truths = Truths()
bystander()
while has_time():
    start_ns, end_s = time.monotonic_ns(), time.thread_time() + 0.7
    while time.thread_time() < end_s:
        garbage: list[object] = [[n] for n in range(1000)]
        garbage.append(garbage)
        gc.collect()
    truths.ended(start_ns)
    time.sleep(0.05)
truths.write()
