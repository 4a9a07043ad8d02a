# SPDX-License-Identifier: GPL-2.0-only
"""This test will cut the power of what stands for QEMU."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from machine import qemu, run
from machine.channels import Channels
from machine.run import Job, Result
from machine.statuses import EXIT_CUT

# What stands for QEMU writes to the only pipe that it inherits.
ASKS = 'for fd in /proc/self/fd/*; do [ "${fd##*/}" -gt 2 ] && echo cut >"$fd"; done'


@pytest.mark.parametrize("late", ["", "sleep 1;"])
def test_what_the_guest_writes_to_the_port_ends_it_at_once(late: str) -> None:
    begun_s = time.monotonic()
    with Channels((qemu.CUT,), {}) as channels:
        command = ["sh", "-c", f"exec 2>/dev/null; {late} {ASKS}; exec sleep 20"]
        job = Job(("true",), timeout_s=30.0)
        assert run._wait(command, job, channels) == -signal.SIGKILL
    assert channels.heard[qemu.CUT] == b"cut\n"
    assert time.monotonic() - begun_s < 10


def test_it_is_no_lost_machine() -> None:
    assert Result(outcome="cut").exit_status == EXIT_CUT


def test_a_process_that_has_ended_is_left_alone() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
        run.cut_power(ended)
    assert ended.returncode == 0


def test_a_process_that_ends_meanwhile_is_not_waited_for_forever() -> None:
    with subprocess.Popen(["sleep", "20"]) as process:
        process.kill()
        run.cut_power(process)
    assert process.returncode == -signal.SIGKILL
