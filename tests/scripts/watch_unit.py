#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""watch_unit: start writestall-watch.service in this guest and stall a write.

The journal must tell of it, within the limits of the unit, and the socket give metrics;
where the service makes no progress, systemd starts it anew. systemd runs as the first
process of a PID namespace, which it must be; its cgroups are the guest's.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import watching
from leftovers import nothing_left

import lab

NAME = "writestall-watch.service"
UNITS = lab.PROJECT / "packaging/systemd"
METRICS = "http://127.0.0.1:9709/metrics"
MEASURED = re.compile(r'_stall_seconds_count\{call="pwrite64",device="dm-\d+"')
SYSTEM = Path("/etc/systemd/system")
DROP_INS = SYSTEM / f"{NAME}.d"
# An emulated machine is slow, but a watchdog's time is short here.
IN_TEST = "[Service]\nWatchdogSec=20\nRestartSec=1\n"
GROUP = Path("/sys/fs/cgroup/system.slice") / NAME
BIN = Path("/usr/bin")  # where the unit expects both programs
HELD_S = 1.5
ASKED_EVERY_S = 1.0  # each question is a program, or two
SHOWN = 20
# A container of systemd's own: no device manager, no file systems to mount.
BOOT = (
    "mount -t proc proc /proc && mount -t tmpfs tmpfs /run && mkdir /run/lock &&"
    " container=other exec /lib/systemd/systemd --unit=basic.target --show-status=no"
)


class Systemd:
    """A systemd, in whose namespaces commands are run."""

    def __init__(self, pid: int) -> None:
        self.into = ["nsenter", "--target", str(pid), "--mount", "--pid", "--"]

    def run(self, *words: str) -> str:
        """What a command printed."""
        done = subprocess.run(
            [*self.into, *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def is_up(self) -> bool:
        """Whether it has reached its target."""
        return self.run("systemctl", "is-system-running") == "running\n"

    def state(self) -> str:
        """Of the service."""
        return self.run("systemctl", "is-active", NAME).strip()

    def property(self, name: str) -> int:
        """A number that systemd knows of the service."""
        return int(self.run("systemctl", "show", "--value", "--property", name, NAME))

    def journal(self) -> list[dict[str, str]]:
        """The lines of the service."""
        told = self.run("journalctl", "--unit", NAME, "--output", "json")
        return [json.loads(line) for line in told.splitlines()]

    def says(self, text: str) -> bool:
        """Whether some line has that text; the service must be alive."""
        lines = self.lines()
        lab.expect(self.state() in ("active", "activating"), "\n".join(lines))
        return any(text in line for line in lines)

    def lines(self) -> list[str]:
        """The last of them, as text."""
        return [str(line["MESSAGE"]) for line in self.journal()[-SHOWN:]]


@contextmanager
def booted() -> Iterator[Systemd]:
    command = [
        "unshare",
        "--pid",
        "--fork",
        "--mount",
        "--kill-child",
        "sh",
        "-c",
        BOOT,
    ]
    with subprocess.Popen(command) as process:
        try:
            lab.until(lambda: bool(lab.descendants(process.pid)))
            systemd = Systemd(lab.descendants(process.pid)[0])
            lab.until(systemd.is_up, every_s=ASKED_EVERY_S)
            yield systemd
        finally:
            process.kill()


def used() -> dict[str, int]:
    """What the service's cgroup holds in MiB, and how often it met its limits."""
    rows = (GROUP / "memory.stat").read_text() + (GROUP / "memory.events").read_text()
    row = dict(line.split() for line in rows.splitlines())
    held = {f"{name}_mib": int(row[name]) >> 20 for name in ("anon", "kernel", "file")}
    return held | {name: int(row[name]) for name in ("high", "max", "oom_kill")}


def install(options: argparse.Namespace, engine: str) -> None:
    """The programs, the units and the engine's drop-in."""
    for name, place in (
        ("writestall", lab.PROJECT / "writestall"),
        ("stalled-writes", options.modules.parent / "core/stalled-writes"),
    ):
        if not (BIN / name).exists():
            (BIN / name).symlink_to(place)
    for unit in UNITS.glob("writestall-watch.*"):
        (SYSTEM / unit.name).write_bytes(unit.read_bytes())
    DROP_INS.mkdir(exist_ok=True)
    for old in DROP_INS.iterdir():
        old.unlink()
    (DROP_INS / "test.conf").write_text(IN_TEST)
    if engine != lab.CORE:
        text = (UNITS / f"{engine}.conf").read_text()
        if engine == "stap":  # the one that was compiled for this kernel
            module = options.modules / "stalled_writes.ko"
            text = text.replace("--engine stap", f"--engine stap --module {module}")
        (DROP_INS / f"{engine}.conf").write_text(text)


def tells_a_stall(systemd: Systemd, disk: lab.Disk) -> None:
    """A stall is in the journal and in the metrics."""
    tid = watching.held_write(disk, HELD_S)

    def told() -> list[dict[str, str]]:
        return [x for x in systemd.journal() if x.get("WRITESTALL_TID") == str(tid)]

    lab.until(lambda: bool(told()), every_s=ASKED_EVERY_S)
    line = told()[0]
    print(line["MESSAGE"], flush=True)
    lab.expect(int(line["WRITESTALL_DURATION_MS"]) >= HELD_S * 900, str(line))
    with urllib.request.urlopen(METRICS, timeout=20) as page:
        metrics = page.read().decode()
    lab.expect(MEASURED.search(metrics) is not None, metrics)


def is_started_anew(systemd: Systemd) -> None:
    """A service that does not go on is ended by its watchdog, and starts again.

    NRestarts is 1 for a moment only: the restart of the socket starts the service, too.
    """
    before = systemd.property("MainPID")
    systemd.run("kill", "-STOP", str(before))
    lab.until(
        lambda: systemd.property("MainPID") not in (0, before), every_s=ASKED_EVERY_S
    )
    lab.until(lambda: systemd.state() == "active", every_s=ASKED_EVERY_S)


def test(options: argparse.Namespace) -> None:
    (engine,) = options.engine or [lab.CORE]
    install(options, engine)
    with lab.disk() as disk, booted() as systemd:
        systemd.run("systemctl", "start", NAME)
        # It is started once the tracer is armed.
        lab.expect(systemd.says("armed after"), "\n".join(systemd.lines()))
        lab.expect(systemd.state() == "active", systemd.state())
        tells_a_stall(systemd, disk)
        found = used()
        print(f"{engine}: {json.dumps(found)}", flush=True)
        lab.expect(not found["max"] and not found["oom_kill"], f"limits met: {found}")
        is_started_anew(systemd)
        tells_a_stall(systemd, disk)
        systemd.run("systemctl", "stop", NAME)
        lab.expect(systemd.state() == "inactive", f"it is {systemd.state()}")
        nothing_left("the service")


if __name__ == "__main__":
    sys.exit(lab.main(test))
