# SPDX-License-Identifier: GPL-2.0-only
"""batch: run guest commands on as few machines as possible, with a verdict on each.

Booting an emulated machine takes longer than most of the commands, so one command runs
after another on the same machine until one fails or the machine is lost; the next one
then starts on a fresh machine. A complaint of the kernel counts against the command
that was running.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from machine import watch
from machine.run import GUEST_PROJECT
from support import PROJECT

EACH = f"{GUEST_PROJECT}/tests/guest/each.sh"
VERDICTS = "/mnt/verdicts"  # where a machine sees the folder with its verdicts
POLL_S = 0.2
# A command's own limit is time of its guest. With icount a second there is 10^9
# instructions, for which TCG needs 3 s of a CPU, and a busy host has none to spare.
HOST_S = {"icount": 6}  # of the host, at most, for one of the guest
STARTS_S = 120  # of the host, for what is not a command
TOOK_S = "guest_s"  # name of a test's property, which pytest cannot measure
BEGINS = re.compile(r"each: (\d+) begins")


@dataclass(frozen=True)
class Command:
    """What is run, the lines of level warning or worse that it means to cause, and its
    name."""

    words: Sequence[str]
    expected: Sequence[str] = ()
    name: str = ""


@dataclass(frozen=True)
class Verdict:
    """The result of one command; no status means that the machine was lost."""

    status: int | None
    took_s: int | None
    output: str
    complaints: list[str]

    @property
    def good(self) -> bool:
        """Whether the command succeeded, without complaints of the kernel."""
        return self.status == 0 and not self.complaints

    def __str__(self) -> str:
        said = "".join(f"\nthe kernel: {line}" for line in self.complaints[:12])
        return f"status {self.status}{said}\n{self.output[-4000:]}"


@dataclass(frozen=True)
class Batch:
    """What all machines of a batch share: options of vm/vm run, its --excuse, the time
    limit of a command, and the accelerator.

    `tell` gets a line when a machine starts, and one when a command has ended.
    """

    machine: tuple[str, ...]
    excused: str
    limit_s: int
    accelerator: str | None = None  # the default of the host
    tell: Callable[[str], None] = lambda line: None

    def verdicts(self, commands: Sequence[Command]) -> list[Verdict]:
        """Run the commands; start a fresh machine after each failure."""
        found: list[Verdict] = []
        repeated = -1
        while len(found) < len(commands):
            some, fault = self._on_one_machine(commands[len(found) :])
            found += some
            last = len(found) - 1
            if fault and repeated != last:
                repeated = last
                lost = found.pop()
                words = shlex.join(commands[last].words)
                note = f"run once more, since {fault}: {words}\n{lost}"
                warnings.warn(note, stacklevel=2)
        return found

    def _on_one_machine(self, commands: Sequence[Command]) -> tuple[list[Verdict], str]:
        """The verdicts on the first commands, on at least one, and a fault of QEMU."""
        with tempfile.TemporaryDirectory(prefix="writestall-") as name:
            folder = Path(name)
            kmsg = folder / "kmsg"
            argv = [sys.executable, str(PROJECT / "vm/vm"), "run", *self.machine]
            argv += ["--accel", self.accelerator] if self.accelerator else []
            argv += ["--excuse", self.excused, "--log", str(kmsg)]
            for line in sorted({line for one in commands for line in one.expected}):
                argv += ["--expect", line]
            argv += ["--result", str(folder / "result")]
            # _follow() ends a machine that makes no progress.
            argv += ["--share", f"{folder}:{VERDICTS}", "--timeout", "86400"]
            argv += ["--", "bash", EACH, VERDICTS, str(self.limit_s)]
            argv += [shlex.join(one.words) for one in commands]
            self.tell(f"a machine for {len(commands)} commands")
            with (folder / "machine").open("w") as note:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=note,
                    stderr=note,
                )
                self._follow(process, folder, commands)
            result = json.loads(_text(folder / "result") or "{}")
            found = _read(folder, commands, self.excused)
            last = found[-1]
            if last.status is None:
                said = [*last.complaints, *result.get("complaints", ())]
                found[-1] = replace(last, complaints=said)
            elif process.returncode and all(one.good for one in found):
                # The machine was lost, or complained, after its last command.
                found[-1] = replace(last, status=process.returncode)
            return found, result.get("emulator", "")

    def _follow(
        self,
        process: subprocess.Popen[bytes],
        folder: Path,
        commands: Sequence[Command],
    ) -> None:
        """Wait for the end of the machine, and tell what ended there; end it if no
        command ends within the limit."""
        most_s = self.limit_s * HOST_S.get(self.accelerator or "", 1) + STARTS_S
        ended, since_s = 0, time.monotonic()
        runs = True
        while runs:
            runs = process.poll() is None
            while ended < len(commands) and (
                words := _text(folder / f"{ended}.status").split()
            ):
                status, took_s = words
                name = commands[ended].name
                ended, since_s = ended + 1, time.monotonic()
                last = _text(folder / f"{ended - 1}.out").strip().rpartition("\n")[2]
                note = "ok" if status == "0" else f"status {status} {last}".rstrip()
                self.tell(f"{ended}/{len(commands)} {name}: {note}, {took_s} s")
            if runs and time.monotonic() - since_s > most_s:
                process.terminate()
                process.wait()
            time.sleep(POLL_S * runs)


def _read(folder: Path, commands: Sequence[Command], excused: str) -> list[Verdict]:
    found = []
    begun = _by_command(watch.of_job(watch.records(_text(folder / "kmsg"))))
    for number, (command, said) in enumerate(zip(commands, begun, strict=False)):
        text = _text(folder / f"{number}.out")
        done, took_s = _ended(_text(folder / f"{number}.status").split())
        if done is None:
            text += _text(folder / "machine")
        complaints = watch.complaints(said, excused, command.expected)
        found.append(Verdict(done, took_s, text, complaints))
    return found


def _text(path: Path) -> str:
    """The content of a file; empty if the machine never wrote it."""
    return path.read_text(errors="replace") if path.exists() else ""


def _ended(words: list[str]) -> tuple[int | None, int | None]:
    """Status and seconds, if the command has ended."""
    return (int(words[0]), int(words[1])) if len(words) == 2 else (None, None)


def _by_command(records: list[watch.Record]) -> list[list[watch.Record]]:
    """The records during each command; what precedes them belongs to the first."""
    found: list[list[watch.Record]] = [[]]
    for record in records:
        if (begins := BEGINS.search(record.text)) and begins[1] != "0":
            found.append([])
        found[-1].append(record)
    return found
