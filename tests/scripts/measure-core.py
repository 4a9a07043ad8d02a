#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure-core: measure CPU time and memory of bpf/core on a host with few stalls.

Runs inside a guest. The program traces while one write stalls each minute; half of the
minutes the host is idle besides, in the other half it writes and syncs small files.
Prints JSON: CPU time until it was armed, then its own and that of its probes, which is
other tasks' time (kernel.bpf_stats_enabled), its resident memory and that of its maps.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import lab

OUTPUT, MESSAGES = Path("/tmp/core.jsonl"), Path("/tmp/core.log")
ARMED = re.compile(r"armed by ([0-9.]+) s of CPU")
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
TICKS = os.sysconf("SC_CLK_TCK")
HOLD_S = 0.3
MINUTE_S = 60.0
BUSY_EVERY_S = 0.1


def cpu_s(pid: int) -> float:
    """User and system time of a process: proc(5), stat."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def described(pid: int, name: str) -> dict[str, int]:
    """A field of the program's maps or probes by their ids, from its fdinfo."""
    found = {}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        fields = dict(
            line.split(":", 1)
            for line in lab.contents(info).splitlines()
            if ":" in line
        )
        number = fields.get("map_id") or fields.get("prog_id")
        if number and name in fields:
            found[number.strip()] = int(fields[name])
    return found


def status_kib(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def write_once() -> None:
    fd = os.open(lab.MOUNT / "minute.log", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    os.write(fd, b"x" * 200)


def live(disk: lab.Disk, busy: bool) -> None:
    """One minute with one stall."""
    until_s = time.monotonic() + MINUTE_S
    lab.stalled_child(disk, write_once, HOLD_S)
    while busy and time.monotonic() < until_s:
        path = lab.MOUNT / "busy.log"
        path.write_bytes(b"y" * 4096)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        time.sleep(BUSY_EVERY_S)
    time.sleep(max(0, until_s - time.monotonic()))


def measured(pid: int, minute: partial[None]) -> dict[str, float]:
    """Milliseconds of CPU in a minute, and what part of one CPU that is, in percent."""
    own_s, probes_ns = cpu_s(pid), sum(described(pid, "run_time_ns").values())
    minute()
    own_ms = (cpu_s(pid) - own_s) * 1e3
    probes_ms = (sum(described(pid, "run_time_ns").values()) - probes_ns) / 1e6
    share = (own_ms + probes_ms) / MINUTE_S / 10
    return {"own_ms": own_ms, "probes_ms": probes_ms, "percent": round(share, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--minutes", type=int, default=10)
    options = parser.parse_args()
    STATISTICS.write_text("1")
    program = lab.parts(lab.CORE, lab.STALLS, options.modules)[1]
    with lab.disk() as disk:
        command = [program, "--output", str(OUTPUT)]
        process = subprocess.Popen(command, stderr=MESSAGES.open("w"))
        try:
            lab.until(lambda: OUTPUT.exists() and b"\n" in OUTPUT.read_bytes())
            minutes = [
                measured(process.pid, partial(live, disk, number % 2 == 1))
                for number in range(options.minutes)
            ]
            result = {
                "kernel": os.uname().release,
                "armed_cpu_s": float(ARMED.findall(MESSAGES.read_text())[0]),
                "resident_kib": status_kib(process.pid, "VmRSS"),
                "peak_kib": status_kib(process.pid, "VmHWM"),
                "maps_kib": sum(described(process.pid, "memlock").values()) // 1024,
                "idle": minutes[::2],
                "busy": minutes[1::2],
            }
        finally:
            process.send_signal(signal.SIGINT)
            status = process.wait()
    lab.expect(status == 0, f"it ended with {status}")
    stalls = [json.loads(line) for line in OUTPUT.read_text().splitlines()]
    reported = [
        e for e in lab.writes_to(disk, stalls) if "minute.log" in (e["path"] or "")
    ]
    lab.expect(
        len(reported) == options.minutes,
        f"{len(reported)} stalls of {options.minutes} reported",
    )
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(lab.status_of(main))
