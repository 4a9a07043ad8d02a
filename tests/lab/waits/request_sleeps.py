# SPDX-License-Identifier: GPL-2.0-only
"""request_sleeps: requests sleep for 700 ms, as one that is limited in rate does.

Another thread syncs a log all the time, which no request needs. Truth: no disk.
"""

from __future__ import annotations

import time

from truths import Truths, bystander, has_time

truths = Truths()
bystander()
while has_time():
    start_ns = time.monotonic_ns()
    time.sleep(0.7)
    truths.ended(start_ns)
    time.sleep(0.05)
truths.write()
