# SPDX-License-Identifier: GPL-2.0-only
"""watch_process: run `writestall watch` as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from golden_runs import HOMES
from support import PROJECT

RUN = HOMES["page-lock-6.12"]
LIMIT_S = 60


def watch(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What it printed, and its status."""
    return _run(
        [sys.executable, str(PROJECT / "writestall"), "watch", *map(str, words)]
    )


def piped(words: str) -> subprocess.CompletedProcess[str]:
    """The same, with the shell's words around it, in which WATCH stands for it."""
    command = f"{sys.executable} {PROJECT}/writestall watch"
    text = words.replace("WATCH", command)
    return _run(["bash", "-c", f"set -o pipefail; {text}"])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
