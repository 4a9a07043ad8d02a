# SPDX-License-Identifier: GPL-2.0-only
"""event_loop: requests sleep for 700 ms in an event loop that other work shares.

A task of the loop has a log synced by a thread all the time, which wakes the loop each
time, and which no request needs. Truth: no disk.
"""

from __future__ import annotations

import asyncio
import time

from truths import Truths, has_time, opened, synced

truths = Truths()


async def audit() -> None:
    log, loop = opened("audit.log"), asyncio.get_running_loop()
    while True:
        await loop.run_in_executor(None, synced, log)


async def main() -> None:
    other = asyncio.create_task(audit())
    while has_time():
        start_ns = time.monotonic_ns()
        await asyncio.sleep(0.7)
        truths.ended(start_ns)
        await asyncio.sleep(0.05)
    other.cancel()


asyncio.run(main())
truths.write()
