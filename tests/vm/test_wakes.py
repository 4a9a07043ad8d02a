# SPDX-License-Identifier: GPL-2.0-only
"""This test will wake what stands for QEMU, once it reads the signal; not before."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from machine import wakes

# For some time, the signal would end it.
READS = """import signal, time
time.sleep(0.5)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
while signal.SIGIO not in signal.sigpending():
    time.sleep(0.01)
"""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakes, "EVERY_S", 0.05)


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[Any]]:
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_is_woken_once_it_reads_the_signal() -> None:
    with running(sys.executable, "-c", READS) as process:
        assert wakes.ended(process, 20.0)
    assert process.returncode == 0


def test_the_limit_passes_for_one_that_does_not_end() -> None:
    with running("sleep", "600") as process:
        assert not wakes.ended(process, 0.2)
        assert not wakes.ended(process, 0.0)
    assert process.returncode == -signal.SIGKILL


def test_one_that_has_ended_was_not_woken() -> None:
    with running("true") as process:
        assert wakes.ended(process, None)
        assert wakes.ended(process, 0.0)
    assert process.returncode == 0
