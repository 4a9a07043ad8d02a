# SPDX-License-Identifier: GPL-2.0-only
"""peers: list the tracers whose cost is measured, ours and comparable ones.

A tracer counts only if it reported a write that was stalled while it was armed, and
only once it is idle: engines compile, and load symbols when they print their first
stack.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lab

SCRIPTS = ("stalled_writes", "slow_writes", "page_locks", "journal_commits")
STALLED = "overhead-stall"  # the file whose write is stalled
STALL_MS = 100
CALLS = "write,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync"
SPOOL = Path("/tmp/spool")
TO_SPOOL = ("-o", str(SPOOL))
HOLD_S = 0.3
IDLE_TICKS = 3  # of 50 in IDLE_S
IDLE_S = 0.5
READ_BYTES = 1 << 20


class AbsentError(Exception):
    """Why a tracer cannot be measured here, in one line."""


class SilentError(AbsentError):
    """It was armed, and did not report the stalled write."""


@dataclass(frozen=True)
class Tracer:
    """A command that traces until SIGINT, and how to check that it did.

    `shows` must be in its output; `reads` prints what went to SPOOL instead, and `undo`
    reverts what it leaves behind. One that sleeps while it is being armed is awaited by
    `makes`, a file.
    """

    name: str
    command: tuple[str, ...]
    shows: str = STALLED
    package: str = ""
    reads: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    makes: Path | None = None


def ours(modules: Path) -> list[Tracer]:
    """Every script with every engine."""
    return [
        Tracer(
            f"{script} ({engine})",
            (*lab.launcher(engine), script, *lab.parts(engine, script, modules)),
            shows=STALLED if script.endswith("_writes") else '"ev":"end"',
        )
        for script in SCRIPTS
        for engine in lab.serving()
    ]


NOTHING = Tracer("none", ("sleep", "infinity"), shows="")
PEERS = (
    Tracer(
        "ext4slower (libbpf)",
        ("fsslower-libbpf", "-t", "ext4", "-m", str(STALL_MS)),
        package="libbpf-tools",
    ),
    Tracer(
        "ext4slower (bcc)", ("ext4slower-bpfcc", str(STALL_MS)), package="bpfcc-tools"
    ),
    Tracer(
        "fileslower (bcc)", ("fileslower-bpfcc", str(STALL_MS)), package="bpfcc-tools"
    ),
    Tracer(
        "offcputime (libbpf)",
        ("offcputime-libbpf", "--state", "2", "-m", str(STALL_MS * 1000)),
        shows="vfs_write",
        package="libbpf-tools",
    ),
    Tracer(
        "funclatency (libbpf)",
        ("funclatency-libbpf", "vfs_write"),
        shows="distribution",
        package="libbpf-tools",
    ),
    Tracer(
        "trace-cmd function_graph",
        # At most this many KiB per CPU: /tmp is in memory, and the tool aborts when it
        # is full.
        (
            *"trace-cmd record -p function_graph -g vfs_write -m 65536".split(),
            *TO_SPOOL,
        ),
        shows="vfs_write",
        package="trace-cmd",
        reads=("trace-cmd", "report", "-i", str(SPOOL)),
        undo=("trace-cmd", "reset"),  # otherwise every function is traced
        makes=SPOOL.with_name(f"{SPOOL.name}.cpu0"),
    ),
    Tracer(
        "perf trace",
        ("perf", "trace", "-a", "-e", CALLS, "--duration", str(STALL_MS), *TO_SPOOL),
        shows="write(fd:",
        package="linux-perf",
        reads=("cat", str(SPOOL)),
    ),
)


def version(tracer: Tracer) -> str:
    """The version of its package; empty for ours."""
    if not tracer.package:
        return ""
    command = ["dpkg-query", "--show", "--showformat=${Version}", tracer.package]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@contextmanager
def traced(tracer: Tracer, disk: lab.Disk, found: dict[str, Any]) -> Iterator[None]:
    """Run the tracer, armed and idle; at the end it must have reported the stall.

    Records in `found` whether it named the file.
    """
    if not shutil.which(tracer.command[0]):
        raise AbsentError(f"not installed: {tracer.package}")
    SPOOL.unlink(missing_ok=True)
    output = Path("/tmp/output")
    with output.open("wb") as sink:
        process = subprocess.Popen(
            tracer.command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
        )
    try:
        makes = tracer.makes
        if makes:
            lab.until(lambda: makes.exists() or process.poll() is not None)
        wait_idle(process, output)
        lab.stalled_child(disk, stalled_write, HOLD_S)
        wait_idle(process, output)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=lab.ARMED_WITHIN_S)
        if tracer.undo:
            lab.run(*tracer.undo)
    text = printed(tracer, output)
    found["names_file"] = STALLED in text
    if tracer.shows not in text:
        raise SilentError(
            f"reported nothing of a write stalled before it: {last(output)}"
        )


def stalled_write() -> None:
    """One write that needs the disk."""
    fd = os.open(lab.MOUNT / STALLED, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    os.write(fd, b"x" * 200)


def wait_idle(process: subprocess.Popen[bytes], output: Path) -> None:
    """Return once it used hardly any CPU for IDLE_S; raise if it ended."""
    before = -IDLE_TICKS
    deadline = time.monotonic() + lab.ARMED_WITHIN_S
    while (now := ticks(process.pid)) >= before + IDLE_TICKS:
        lab.expect(time.monotonic() < deadline, "a tracer never became idle")
        before = now
        time.sleep(IDLE_S)
        if process.poll() is not None:
            raise AbsentError(last(output))


def ticks(pid: int) -> int:
    """CPU time of a process and its descendants, living and reaped, in ticks."""
    total = 0
    with suppress(FileNotFoundError, ProcessLookupError):  # one ended meanwhile
        for one in (pid, *lab.descendants(pid)):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))  # proc_pid_stat(5): utime to cstime
    return total


def last(output: Path) -> str:
    """The last line that is not empty."""
    lines = output.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing")


def printed(tracer: Tracer, output: Path) -> str:
    """The first megabyte of its output."""
    if not tracer.reads:
        return output.read_bytes()[:READ_BYTES].decode(errors="replace")
    with subprocess.Popen(tracer.reads, stdout=subprocess.PIPE) as reader:
        assert reader.stdout
        text = reader.stdout.read(READ_BYTES)
        reader.kill()
    return text.decode(errors="replace")
