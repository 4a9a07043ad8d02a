# SPDX-License-Identifier: GPL-2.0-only
"""plain: read the command of a tracing script from its header.

As a program, usage: plain.py SCRIPT RELEASE, it prints the words that follow the
engine's name, for a kernel.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

LINE = re.compile(r"^//   ((?:stap|bpftrace) .*)$", re.MULTILINE)
# What the header says to add for older kernels.
ADDED = re.compile(r"^// Before Linux (\d+)\.(\d+), add (-\S+)\.", re.MULTILINE)


def command(script: Path, release: str) -> list[str]:
    """Return the words of the command for a kernel."""
    text = script.read_text()
    words = shlex.split(LINE.findall(text)[0])
    version = [int(number) for number in re.findall(r"\d+", release)[:2]]
    for major, minor, word in ADDED.findall(text):
        if version < [int(major), int(minor)]:
            words.insert(1, word)
    return words


if __name__ == "__main__":
    print(shlex.join(command(Path(sys.argv[1]), sys.argv[2])[1:]))
