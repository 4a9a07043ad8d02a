#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""watch_unit: start writestall-watch.service in this guest and stall a write.

The journal must tell of it, within the limits of the unit. systemd runs as the first
process of a PID namespace, which it must be; its cgroups are the guest's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import watching
from leftovers import nothing_left

import lab

NAME = "writestall-watch.service"
UNIT = lab.PROJECT / "packaging/systemd" / NAME
GROUP = Path("/sys/fs/cgroup/system.slice") / NAME
BIN = Path("/usr/bin")  # where the unit expects both programs
HELD_S = 1.5
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

    def journal(self) -> list[dict[str, str]]:
        """The lines of the service."""
        told = self.run("journalctl", "--unit", NAME, "--output", "json")
        return [json.loads(line) for line in told.splitlines()]

    def says(self, text: str) -> bool:
        """Whether some line has that text; the service must be alive."""
        lines = [str(line["MESSAGE"]) for line in self.journal()]
        lab.expect(self.state() in ("active", "activating"), "\n".join(lines[-5:]))
        return any(text in line for line in lines)


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
            lab.until(systemd.is_up)
            yield systemd
        finally:
            process.kill()


def used() -> dict[str, int]:
    """What the service's cgroup holds in MiB, and how often it met its limits."""
    rows = (GROUP / "memory.stat").read_text() + (GROUP / "memory.events").read_text()
    row = dict(line.split() for line in rows.splitlines())
    held = {f"{name}_mib": int(row[name]) >> 20 for name in ("anon", "kernel", "file")}
    return held | {name: int(row[name]) for name in ("high", "max", "oom_kill")}


def test(options: argparse.Namespace) -> None:
    (BIN / "writestall").symlink_to(lab.PROJECT / "writestall")
    (BIN / "stalled-writes").symlink_to(options.modules.parent / "core/stalled-writes")
    Path("/etc/systemd/system", NAME).write_bytes(UNIT.read_bytes())
    with lab.disk() as disk, booted() as systemd:
        systemd.run("systemctl", "start", NAME)
        lab.until(lambda: systemd.says("armed after"))
        tid = watching.held_write(disk, HELD_S)

        def told() -> list[dict[str, str]]:
            return [x for x in systemd.journal() if x.get("WRITESTALL_TID") == str(tid)]

        lab.until(lambda: bool(told()))
        line = told()[0]
        found = used()
        print(f"{line['MESSAGE']}\n{json.dumps(found)}", flush=True)
        lab.expect(int(line["WRITESTALL_DURATION_MS"]) >= HELD_S * 900, str(line))
        lab.expect(not found["max"] and not found["oom_kill"], f"limits met: {found}")
        systemd.run("systemctl", "stop", NAME)
        lab.expect(systemd.state() == "inactive", f"it is {systemd.state()}")
        nothing_left("the service")


if __name__ == "__main__":
    sys.exit(lab.main(test))
