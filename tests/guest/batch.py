# SPDX-License-Identifier: GPL-2.0-only
"""batch: guest commands to a verdict on each, on as few machines as that takes.

Booting takes an emulated machine longer than most of the commands do, so one runs
after another on the same machine until one fails or the machine is lost; the next
then begins on a fresh one. What the kernel complained of counts against the command
that was running.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from machine import watch
from machine.run import GUEST_PROJECT
from support import PROJECT

EACH = f"{GUEST_PROJECT}/tests/guest/each.sh"
VERDICTS = "/mnt/verdicts"  # where a machine sees the folder of its verdicts
POLL_S = 0.2
TOOK_S = "guest_s"  # the name of a test's property: what pytest cannot time itself
BEGINS = re.compile(r"each: (\d+) begins")


@dataclass(frozen=True)
class Verdict:
    """What became of one command; no status: the machine was lost under it."""

    status: int | None
    took_s: int | None
    output: str
    complaints: list[str]

    @property
    def good(self) -> bool:
        """Whether it ended well, and the kernel with it."""
        return self.status == 0 and not self.complaints

    def __str__(self) -> str:
        said = "".join(f"\nthe kernel: {line}" for line in self.complaints[:12])
        return f"status {self.status}{said}\n{self.output[-4000:]}"


@dataclass(frozen=True)
class Batch:
    """What all machines of a batch have: options of vm/vm run, its --excuse, how long a
    command may take, and the accelerator."""

    machine: tuple[str, ...]
    excused: str
    limit_s: int
    accelerator: str | None = None  # the host's own

    def verdicts(self, commands: Sequence[Sequence[str]]) -> list[Verdict]:
        """Run the commands, each that follows a failure on a fresh machine."""
        found: list[Verdict] = []
        while len(found) < len(commands):
            found += self._on_one_machine(commands[len(found) :])
        return found

    def _on_one_machine(self, commands: Sequence[Sequence[str]]) -> list[Verdict]:
        """The verdicts on the first commands, at least on one."""
        with tempfile.TemporaryDirectory(prefix="writestall-") as name:
            folder = Path(name)
            console, words = folder / "console", map(shlex.join, commands)
            argv = [sys.executable, str(PROJECT / "vm/vm"), "run", *self.machine]
            argv += ["--accel", self.accelerator] if self.accelerator else []
            argv += ["--excuse", self.excused, "--console", str(console)]
            # _follow() ends a machine that makes no progress.
            argv += ["--share", f"{folder}:{VERDICTS}", "--timeout", "86400"]
            argv += ["--", "bash", EACH, VERDICTS, str(self.limit_s), *words]
            with (folder / "machine").open("w") as told:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=told,
                    stderr=told,
                )
                _follow(process, folder, self.limit_s + 120)
            found = _read(folder, self.excused)
            if process.returncode and all(one.good for one in found):
                # The machine was lost, or complained, behind its last command.
                found[-1] = replace(found[-1], status=process.returncode)
            return found


def _follow(process: subprocess.Popen[bytes], folder: Path, limit_s: float) -> None:
    """Wait for the machine's end; end it when no command ends for so long."""
    ended, since_s = 0, time.monotonic()
    while process.poll() is None:
        now_ended = len(list(folder.glob("*.status")))
        if now_ended > ended:
            ended, since_s = now_ended, time.monotonic()
        if time.monotonic() - since_s > limit_s:
            process.terminate()
            process.wait()
        time.sleep(POLL_S)


def _read(folder: Path, excused: str) -> list[Verdict]:
    found = []
    for number, console in enumerate(_by_command(_text(folder / "console"))):
        text = _text(folder / f"{number}.out")
        done, took_s = _ended(_text(folder / f"{number}.status").split())
        if done is None:
            text += _text(folder / "machine")
        complaints = watch.complaints(console, excused)
        found.append(Verdict(done, took_s, text, complaints))
    return found


def _text(path: Path) -> str:
    """What a file holds; nothing where the machine never came to write it."""
    return path.read_text(errors="replace") if path.exists() else ""


def _ended(words: list[str]) -> tuple[int | None, int | None]:
    """Status and seconds, if the command came to its end."""
    return (int(words[0]), int(words[1])) if len(words) == 2 else (None, None)


def _by_command(console: str) -> list[str]:
    """The console's text while each command ran; the boot's belongs to the first."""
    boot, *parts = BEGINS.split(console)
    texts = parts[1::2] or [""]
    return [boot + texts[0], *texts[1:]]
