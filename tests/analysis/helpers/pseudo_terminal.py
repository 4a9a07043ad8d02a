# SPDX-License-Identifier: GPL-2.0-only
"""pseudo_terminal: run a command on a terminal and return what it writes."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

# "Select graphic rendition": colours and bold, the one escape that is no danger.
SGR = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9[0-7])\b[0-9;]*m")


def on_a_terminal(*argv: str | Path, **environment: str) -> str:
    """What a command writes to a terminal of 256 colours and 100 columns."""
    ours, theirs = pty.openpty()
    plain = {key: text for key, text in os.environ.items() if key != "NO_COLOR"}
    terminal = {"TERM": "xterm-256color", "COLUMNS": "100", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "writestall", *map(str, argv)],
        stdout=theirs,
        env=plain | terminal | environment,
    ) as process:
        os.close(theirs)
        data = b""
        while True:
            try:
                data += (more := os.read(ours, 65536))
            except OSError:  # Linux's end of a terminal: EIO
                break
            if not more:
                break
    os.close(ours)
    assert process.returncode == 0
    return data.decode()
