# SPDX-License-Identifier: GPL-2.0-only
"""watching: a `writestall watch` of this guest, and what it has said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lab

WRITESTALL = lab.PROJECT / "writestall"
ENDED_WITHIN_S = 120
Line = dict[str, Any]


class Watch:
    """It runs in the background; its lines are JSON in a file of memory."""

    def __init__(self, engine: str, modules: Path, *words: str) -> None:
        self.engine = engine
        self.work = Path(tempfile.mkdtemp(prefix="watch-", dir="/dev/shm"))
        self.dumps = self.work / "dumps"
        self.output = self.work / "said"
        module = ["--module", str(modules / "stalled_writes.ko")] * (engine == "stap")
        given = ["--engine", engine, *module, "--json", "--dump-dir", str(self.dumps)]
        self.process = subprocess.Popen(
            [sys.executable, str(WRITESTALL), "watch", *given, *words],
            env=lab.environment(modules),
            stdout=self.output.open("wb"),
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def lines(self) -> list[Line]:
        """What it has said so far, as far as it is JSON."""
        *said, _ = self.output.read_text().split("\n")  # the last one may not be whole
        return [json.loads(line) for line in said if line.startswith("{")]

    def stalls(self) -> list[Line]:
        """The stalls that it has told."""
        return [line for line in self.lines() if "duration_ms" in line]

    def said(self, text: str) -> bool:
        """Whether some line has that text."""
        return any(text in line["message"] for line in self.lines())

    def wait_armed(self) -> None:
        """Return once its tracer is armed."""

        def armed() -> bool:
            lab.expect(self.process.poll() is None, self.output.read_text())
            return self.said("runs stalled_writes") and self._begun()

        lab.until(armed)

    def _begun(self) -> bool:
        """SystemTap's module is loaded after that line: a stall must be told."""
        return self.said("armed")

    def part(self, file: str, text: str) -> int:
        """The pid of a process below it whose `comm` or `cmdline` has that text."""
        for pid in lab.descendants(self.process.pid):
            if text in lab.contents(Path(f"/proc/{pid}/{file}")):
                return pid
        raise lab.FoundError(f"no {text} below watch")

    def cost(self) -> dict[str, float]:
        """What its own process has used so far, the engine and launcher apart."""
        stat = lab.contents(Path(f"/proc/{self.process.pid}/stat"))
        fields = stat.rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        return {"cpu_s": cpu_s, "resident_mib": round(resident / 2**20, 1)}

    def stop(self, number: int = signal.SIGTERM) -> str:
        """End it in order; return its last line."""
        self.process.send_signal(number)
        status = self.process.wait(ENDED_WITHIN_S)
        lab.expect(status == 0, f"watch ended with {status}: {self.tail()}")
        return str(self.lines()[-1]["message"])

    def tail(self) -> str:
        return "\n".join(self.output.read_text().splitlines()[-5:])

    def end(self) -> None:
        """End it in any case."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(ENDED_WITHIN_S)


def held_write(disk: lab.Disk, hold_s: float) -> int:
    """A pwrite64(2) to lab/held that sleeps until the disk answers; its task."""
    opened = os.open(lab.MOUNT / "held", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    os.write(opened, b"x" * lab.PAGE)

    def write_through() -> None:
        os.pwrite(opened, b"y" * lab.PAGE, 0)

    tid = lab.stalled_child(disk, write_through, hold_s)
    os.close(opened)
    return tid


@contextmanager
def watch(engine: str, modules: Path, *words: str) -> Iterator[Watch]:
    """A watch that is armed; it is ended in any case."""
    one = Watch(engine, modules, *words)
    try:
        one.wait_armed()
        yield one
    finally:
        one.end()
