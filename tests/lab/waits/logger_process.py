# SPDX-License-Identifier: GPL-2.0-only
"""logger_process: each request sends a line to a logger, and reads its answer.

The logger is another process behind two pipes; it syncs its log before it answers.
Truth: the disk, for as long as the logger was in write(2) and fsync(2).
"""

from __future__ import annotations

import json
import os
import time

from truths import Truths, has_time, opened, synced

truths = Truths()
lines, line = os.pipe()
answers, answer = os.pipe()
if not os.fork():
    os.close(line)
    log = opened("service.log")
    while os.read(lines, 1000):
        os.write(answer, json.dumps(synced(log)).encode())
    os._exit(0)
while has_time():
    start_ns = time.monotonic_ns()
    os.write(line, b"a line\n")
    call = os.read(answers, 1000)
    truths.ended(start_ns)
    truths.calls.append(json.loads(call))
    time.sleep(0.1)
truths.write()
