# SPDX-License-Identifier: GPL-2.0-only
"""debuginfo: find the functions that are inlined at a frame of a stack.

They have names in the kernel's debuginfo only. A frame is a return address: what was
called is one byte before it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import TraceError

DEBUG = Path("/usr/lib/debug/lib/modules")
FRAME = re.compile(r"([^+ ]+)\+0x([0-9a-f]+)(?: \[([^\]]+)\])?")
# addr2line's answer to one address: the address, then two lines for each level.
ANSWER = re.compile(r"^0x[0-9a-f]+\n((?:(?!0x).*\n.*\n)+)", re.MULTILINE)
KEPT_OF_A_FILE = 2  # the last parts of its name; the rest is the builder's


@dataclass(frozen=True)
class Place:
    """A function on a stack; the line from which it calls on, if it is inlined."""

    function: str
    module: str = ""
    line: str = ""

    @property
    def word(self) -> str:
        """The place in the form that trace/build --arguments takes."""
        module = f"{self.module}:" if self.module else ""
        return f"{module}{self.function}{f'@{self.line}' if self.line else ''}"


def levels(answer: str, frame: str) -> list[Place]:
    """Parse addr2line's answer to a frame into places, innermost first."""
    found = FRAME.fullmatch(frame)
    if not found:  # no symbol
        return []
    symbol, module = found[1].split(".")[0], found[3] or ""
    rows = answer.splitlines()
    functions = rows[::2]
    if not functions or functions[-1] != symbol:
        return [Place(symbol, module)]
    inlined, called = [], ""
    for function, line in zip(functions, rows[1::2], strict=True):
        # a function that was split in two is there twice, too
        if function not in (called, symbol):
            file = line.split(" ")[0].split("/")[-KEPT_OF_A_FILE:]
            inlined.append(Place(function, module, "/".join(file)))
        called = function
    return [*inlined, Place(symbol, module)]


class Debuginfo:
    """The running kernel's debuginfo; raise TraceError where it is not installed."""

    def __init__(self) -> None:
        release = os.uname().release
        self._folder = DEBUG / release
        if not (self._folder / "vmlinux").exists():
            raise TraceError(
                f"no debuginfo of kernel {release}: install linux-image-{release}-dbg"
            )
        kernel = self._folder / "kernel"
        self._files = {
            path.name.partition(".")[0].replace("-", "_"): path
            for path in kernel.rglob("*.ko*")
        } | {"": self._folder / "vmlinux"}

    def places(self, frames: Iterable[str]) -> dict[str, list[Place]]:
        """Return the places of each frame, innermost first."""
        by_module: dict[str, list[str]] = {}
        for frame in dict.fromkeys(frames):
            found = FRAME.fullmatch(frame)
            by_module.setdefault(found[3] or "" if found else "", []).append(frame)
        known: dict[str, list[Place]] = {}
        for module, group in by_module.items():
            answers = self._answers(module, group)
            for frame, answer in zip(group, answers, strict=True):
                known[frame] = levels(answer, frame)
        return known

    def _answers(self, module: str, frames: list[str]) -> list[str]:
        """Return addr2line's answer to each frame, empty where it has none."""
        file = self._files.get(module)
        asked = [FRAME.fullmatch(frame) for frame in frames]
        words = [f"{f[1]}+{int(f[2], 16) - 1:#x}" if f else "0" for f in asked]
        answers: list[str] = []
        if file:
            command = ["addr2line", "-a", "-f", "-i", "-e", str(file), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            answers = ANSWER.findall(done.stdout)
        return answers if len(answers) == len(frames) else [""] * len(frames)
