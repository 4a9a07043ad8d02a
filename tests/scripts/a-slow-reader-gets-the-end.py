#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will leave a tracer's lines unread until it cannot write more, stop it, and
then read every line up to its `end`."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import lab

# What an engine prints endlessly, and the options for that: each call.
SCRIPT, OPTIONS = "slow_writes", ("--stall-us", "0")
# Top of the stack of a process that waits for room in a pipe (fs/pipe.c): pipe_write(),
# or anon_pipe_write() in 7.2, in 5.4 behind pipe_wait(). Its wchan is "0" on 5.10.
WAITS_FOR_ROOM = re.compile(
    r"(\[<\w+>\] pipe_wait\+.*\n)?\[<\w+>\] (anon_)?pipe_write\+"
)


def write_on(path: Path) -> None:
    """Endless rows: one write every millisecond, which waits for the disk."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    while True:
        os.pwrite(fd, b"x" * 200, 0)
        time.sleep(0.001)


@contextmanager
def writer(path: Path) -> Iterator[None]:
    pid = lab.child(lambda: write_on(path))
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@contextmanager
def launched(engine: str, modules: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A tracer of every write, its lines in a pipe."""
    command = [*lab.launcher(engine), SCRIPT, *OPTIONS]
    command += lab.parts(engine, SCRIPT, modules)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                for pid in reversed([process.pid, *lab.descendants(process.pid)]):
                    os.kill(pid, signal.SIGKILL)


def waits(pid: int) -> bool:
    """Whether a thread of the process waits for room in a pipe."""
    stacks = Path(f"/proc/{pid}/task").glob("*/stack")
    return any(WAITS_FOR_ROOM.match(path.read_text()) for path in stacks)


def stuck(pid: int) -> bool:
    """Whether a launcher and its engine both wait for their readers."""
    return waits(pid) and any(waits(one) for one in lab.descendants(pid))


def rest(pipe: IO[bytes], engine: str) -> None:
    """Read to the end and compare the last line with the count of the others."""
    text = pipe.read()
    lab.expect(text.endswith(b"\n"), f"{engine}: the last line is cut off")
    last = json.loads(text.splitlines()[-1])
    lab.expect(last["ev"] == "end", f"{engine}: the last line is {last}")
    lines = text.count(b"\n") - text.count(b'{"ev":"cgroup"') - 1
    lab.expect(last["events"] == lines, f"{engine}: {last}, but {lines} lines")


def read_late(engine: str, modules: Path) -> None:
    with launched(engine, modules) as process:
        assert process.stdout
        first = json.loads(process.stdout.readline())
        lab.expect(first["ev"] == "begin", f"{engine}: the first line is {first}")
        with writer(lab.MOUNT / f"{engine}.log"):
            lab.until(lambda: stuck(process.pid))
            process.send_signal(signal.SIGINT)
            time.sleep(1)  # what follows no longer affects the tracer
            rest(process.stdout, engine)
        status = process.wait(timeout=lab.ARMED_WITHIN_S)
        lab.expect(status == 0, f"{engine}: status {status}")


def test(options: argparse.Namespace) -> None:
    with lab.disk():
        for engine in options.engine or lab.serving():
            read_late(engine, options.modules)


if __name__ == "__main__":
    sys.exit(lab.main(test))
