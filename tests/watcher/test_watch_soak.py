# SPDX-License-Identifier: GPL-2.0-only
"""test_watch_soak: many stalls are all reported, in memory that does not grow.

A recorded run is repeated and replayed, as fast as it is explained. `make soak-watch`
takes an hour of 1,000 stalls a minute and a day of one a second; the other tests some
minutes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from golden_runs import HOMES
from streamed import Repeated
from support import PROJECT
from writestall.watch.ring import S

SOAK = os.environ.get("WRITESTALL_SOAK") == "1"
RUN = HOMES["xfs-ilock-6.12"]
STALLS = 36  # of that run
# From the third fifth of the time to the last: what an interpreter's heap varies by.
# It grows by 5 MiB in the first fourteen minutes of 1,000 stalls each, which are before
# the third fifth, and by 0.1 MiB in the next forty-six.
GROWTH_KIB = 2048
SAMPLES = 100


@dataclass(frozen=True)
class Load:
    """Stalls a minute of the events' time, for so many minutes."""

    a_minute: int
    minutes: int

    @property
    def rounds(self) -> int:
        return self.a_minute * self.minutes // STALLS

    @property
    def every_ns(self) -> int:
        return 60 * S * STALLS // self.a_minute


LOADS = (Load(1000, 60), Load(60, 24 * 60)) if SOAK else (Load(1000, 36), Load(60, 60))


@dataclass
class Soaked:
    """A watch that replays a pipe: its memory so far, and what it says."""

    process: subprocess.Popen[bytes]
    resident_kib: list[int] = field(default_factory=list)
    reported: int = 0
    last: str = ""

    def read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.reported += b'"duration_ms"' in line
            self.last = line.decode()

    def sample(self) -> None:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(row for row in text.splitlines() if row.startswith("VmRSS:"))
        self.resident_kib.append(int(line.split()[1]))

    def growth_kib(self) -> float:
        fifth = len(self.resident_kib) // 5
        early = statistics.median(self.resident_kib[2 * fifth : 3 * fifth])
        return statistics.median(self.resident_kib[-fifth:]) - early


@pytest.mark.parametrize("load", LOADS, ids=lambda load: f"{load.a_minute}-a-minute")
def test_all_are_reported_and_memory_stays(load: Load) -> None:
    command = [sys.executable, str(PROJECT / "writestall"), "watch", "--json"]
    began_s = time.monotonic()
    with subprocess.Popen(
        [*command, "--replay", "/dev/stdin", "--listen", "127.0.0.1:0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        soaked = Soaked(process)
        reading = threading.Thread(target=soaked.read)
        reading.start()
        repeated = Repeated(RUN, load.every_ns)
        assert process.stdin
        step = max(1, load.rounds * STALLS // SAMPLES)
        for line in repeated.rounds(load.rounds):
            process.stdin.write(line)
            if repeated.stalls >= step * len(soaked.resident_kib):
                soaked.sample()
        process.stdin.close()
        reading.join()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    cpu_s = usage.ru_utime + usage.ru_stime
    print(
        f"{load}: {repeated.stalls} stalls, {soaked.reported} reported,"
        f" {cpu_s:.1f} s of CPU, {time.monotonic() - began_s:.0f} s,"
        f" {soaked.resident_kib[-1]} KiB resident,"
        f" {soaked.growth_kib():+.0f} KiB from the third fifth to the last"
    )
    assert status == 0
    assert soaked.reported == repeated.stalls == load.rounds * STALLS
    assert f"{soaked.reported} reported, 0 too many to report" in soaked.last
    assert " 0 lost, 0 dropped early, 0 not readable" in soaked.last
    assert soaked.growth_kib() <= GROWTH_KIB
