# SPDX-License-Identifier: GPL-2.0-only
"""disarms: arm and disarm a rule COUNT times, each once it has claimed a bio.

Arguments: the rule's file `enabled`, the status file, COUNT.
"""

import sys
import time
from pathlib import Path

ENABLED, STATUS, COUNT = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
# A sixth of the delay: longer than any pause of a busy host, far below the delay.
MOST_NS = 5_000_000_000


def disarm(number: int) -> int:
    """Arm, wait for claims by bios of the load, disarm; return the duration in ns."""
    ENABLED.write_text("1")
    # A claim may come at any moment of the disarm: vary the time before it.
    time.sleep(number % 8 / 4000)
    start_ns = time.monotonic_ns()
    ENABLED.write_text("0")
    return time.monotonic_ns() - start_ns


def delayed() -> int:
    [count] = (x for x in STATUS.read_text().splitlines() if x.startswith("r.delayed "))
    return int(count.split()[1])


def main() -> None:
    taken_ns = sorted(disarm(number) for number in range(COUNT))
    assert delayed() >= COUNT, f"{delayed()} bios held over {COUNT} disarms: not busy"
    median_ms, longest_ms = taken_ns[COUNT // 2] / 1e6, taken_ns[-1] / 1e6
    print(f"{COUNT} disarms, {delayed()} bios held:", end=" ")
    print(f"median {median_ms:.1f} ms, longest {longest_ms:.1f} ms")
    assert taken_ns[-1] < MOST_NS, "a disarm took a good part of the delay"


main()
