# SPDX-License-Identifier: GPL-2.0-only
"""drawing: call a test with inputs that hypothesis draws, for a time.

WRITESTALL_FUZZ_S says for how many seconds each test draws; make fuzz sets it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings

SECONDS = float(os.environ.get("WRITESTALL_FUZZ_S", "2.5"))
AT_ONCE = 100  # inputs between two looks at the clock
Test = Callable[[Any], None]


def drawn(strategy: Any, test: Test) -> int:
    """Call the test with inputs drawn until the time is over; how many there were."""
    count = 0

    def counted(value: Any) -> None:
        nonlocal count
        count += 1
        test(value)

    until = time.monotonic() + SECONDS
    start = time.time_ns()
    while time.monotonic() < until:
        batch: Any = settings(
            max_examples=AT_ONCE,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        wrappers: list[Any] = [given(strategy), batch, seed(start + count)]
        wrapped: Any = counted
        for wrapper in wrappers:
            wrapped = wrapper(wrapped)
        wrapped()
    return count
