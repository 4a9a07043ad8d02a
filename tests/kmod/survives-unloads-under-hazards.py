#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will load, arm, change, disarm and unload the module while fio verifies on
ext4, XFS and a dm stack, threads write its attributes, and the machine loses a CPU, a
disk, its memory or its processes, without a lost write, a bio held, a disarm that takes
long or a splat.

Arguments: the module, a scratch disk, cycles (7).
"""

# What is written at random is refused now and then.
# expects: biodelay: .*

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hazards
from hazards import PARAMETERS, RECORD, RULES, STATUS
from stress_bed import Bed, bed, run

MODULE, DISK = sys.argv[1:3]
CYCLES = int(sys.argv[3]) if len(sys.argv) > 3 else 7
WRITERS = 3
DELETE_MODULE = {"x86_64": 176, "aarch64": 106}[platform.machine()]
SYSCALL = ctypes.CDLL(None, use_errno=True).syscall
UNLOADED_WITHIN_S = 60
# No delay of a rule adds to a disarm. What does is grace periods and a busy host.
DISARMED_WITHIN_S = 10
LOADED = Path("/sys/module/biodelay")
# What a thread writes, one after another; a device is added.
CHANGES = (
    *("enabled 1", "enabled 1", "enabled 0", "order 0", "order 1000000"),
    *("mode sleep", "mode defer", "mode spin", "delay_us 1", "delay_us 30000"),
    *("delay table 0:1000 1000000000:20000000", "delay_us 100000"),
    *("submitter jbd2/*", "submitter *", "kind user", "kind anyone"),
    *("lanes 1", "lanes 0", "probability 50", "probability 100", "max_inflight 3"),
    *("ops write,flush", "ops read,write,flush,discard,zeroes,other"),
    *("ttl_ms 5", "ttl_ms 0", "heartbeat_ms 3", "heartbeat_ms 0", "burst 5 10"),
)
counts: Counter[str] = Counter()
disarms_s: list[float] = []


def write(attribute: Path, value: str) -> None:
    """Write an attribute; how long a disarm took is noted."""
    start_s = time.monotonic()
    attribute.write_text(f"{value}\n")
    counts["writes"] += 1
    if (attribute.name, value) == ("enabled", "0"):
        disarms_s.append(time.monotonic() - start_s)


def change(number: int, devices: list[str], stop: threading.Event) -> None:
    """Write attributes of the parameters and of a rule, make it and take it away."""
    draw = random.Random(number)
    own = RULES / f"w{number}"
    words = [*CHANGES, *(f"device {name}" for name in devices)]
    while not stop.is_set():
        name, _, value = draw.choice(words).partition(" ")
        # ENOENT, ENODEV: it is unloaded; others: refused as the rule stands.
        with contextlib.suppress(OSError):
            write(PARAMETERS / name, value)
        with contextlib.suppress(OSError):
            if draw.random() < 0.2:
                own.rmdir()
            elif not own.exists():
                own.mkdir()
            write(own / name, value)
        with contextlib.suppress(OSError):
            (STATUS if number % 2 else RECORD).read_bytes()


@contextmanager
def writers(found: Bed) -> Iterator[None]:
    stop = threading.Event()
    devices = [found.disk, *found.upper.values()]
    threads = [
        threading.Thread(target=change, args=(number, devices, stop))
        for number in range(WRITERS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def load(number: int, found: Bed) -> None:
    """Load it armed or not; two rules more, one of them above the other's disk."""
    mode = ("sleep", "defer")[number % 2]
    device, armed = f"device={found.disk}", f"enabled={number % 3 % 2}"
    run("insmod", MODULE, device, f"mode={mode}", "delay_us=20000", armed)
    for name, disk in (("upper", found.upper["stack"]), ("lower", found.disk)):
        (RULES / name).mkdir()
        for key, value in (("device", disk), ("delay_us", 10_000), ("enabled", 1)):
            (RULES / name / key).write_text(f"{value}\n")


def unload() -> None:
    """Take away the rules, and unload; others may be at work on both."""
    deadline_s = time.monotonic() + UNLOADED_WITHIN_S
    while LOADED.exists():
        for rule in RULES.glob("*/"):
            with contextlib.suppress(OSError):
                rule.rmdir()
        failed = SYSCALL(DELETE_MODULE, b"biodelay", os.O_NONBLOCK)
        code = ctypes.get_errno() if failed else 0
        assert code in (0, errno.EAGAIN, errno.EBUSY, errno.ENOENT), os.strerror(code)
        counts["unloads" if not failed else "refused unloads"] += 1
        assert time.monotonic() < deadline_s, "it is never unused"


def cycle(number: int, found: Bed, name: str, hazard: hazards.Hazard) -> None:
    load(number, found)
    with writers(found), hazard(MODULE):
        time.sleep(0.05 * (number % 4))
        unload()
    unload()
    counts[name] += 1
    found.check()


def main() -> None:
    table = list(hazards.known().items())
    with bed(DISK) as found:
        try:
            for number in range(CYCLES):
                cycle(number, found, *table[number % len(table)])
        finally:
            unload()
        rounds = {load.folder.name: load.rounds for load in found.loads}
    text = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{CYCLES} cycles: {text}; fio rounds: {rounds}")
    print("of these:", dict(hazards.reached))
    print(f"{len(disarms_s)} disarms, the longest {max(disarms_s):.3f} s")
    assert max(disarms_s) < DISARMED_WITHIN_S, "a disarm took long"


main()
