# SPDX-License-Identifier: GPL-2.0-only
"""event_loop_syncs: requests have an event loop's thread sync a log, and wait for it.

Truth: the disk, for as long as that thread was in write(2) and fsync(2).
"""

from __future__ import annotations

import asyncio
import time

from truths import Truths, has_time, opened, synced

truths = Truths()


async def main() -> None:
    log, loop = opened("wal.log"), asyncio.get_running_loop()
    while has_time():
        start_ns = time.monotonic_ns()
        truths.calls.append(await loop.run_in_executor(None, synced, log))
        truths.ended(start_ns)
        await asyncio.sleep(0.1)


asyncio.run(main())
truths.write()
