# SPDX-License-Identifier: GPL-2.0-only
"""This test will send signals to a program that has undone everything."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from support import PROJECT
from writestall_base.stop import SIGNALS

PROGRAM = """
import os, sys
sys.path.insert(0, "base")
from writestall_base.stop import Stop
stop = Stop()
stop.install()
stop.ignore()
os.kill(os.getpid(), int(sys.argv[1]))
print("end", stop.requested)
"""


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_after_the_end_changes_nothing(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(int(number))],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end False\n", "")
