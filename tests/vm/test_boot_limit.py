# SPDX-License-Identifier: GPL-2.0-only
"""This test will wait for guests whose command begins, or does not, or takes long."""

from __future__ import annotations

import time

import pytest

from machine import qemu, run
from machine.channels import Channels
from machine.run import Job

PORTS = "verdict", qemu.CUT
# What stands for QEMU writes to the first pipe that it inherits.
SAYS = (
    'for fd in /proc/self/fd/*; do [ "${{fd##*/}}" -gt 2 ] && printf "{}" >"$fd"'
    " && break; done"
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "BOOT_S", 0.5)


def waited(script: str, timeout_s: float | None) -> tuple[int | None, float]:
    """What _wait() returns, and how long it took, in seconds."""
    begun_s = time.monotonic()
    with Channels(PORTS, {}) as channels:
        command = ["sh", "-c", f"{script} 2>/dev/null"]
        status = run._wait(command, Job(("true",), timeout_s=timeout_s), channels)
    return status, time.monotonic() - begun_s


@pytest.mark.parametrize("timeout_s", [30.0, None])
def test_a_guest_that_does_not_begin_is_ended(timeout_s: float | None) -> None:
    status, took_s = waited("exec sleep 20", timeout_s)
    assert status is None
    assert took_s < 10


def test_a_command_that_has_begun_has_its_own_limit() -> None:
    assert waited(f"{SAYS.format(run.BEGUN)}; sleep 1.5; exit 7", 30.0)[0] == 7
    assert waited(f"{SAYS.format(run.BEGUN)}; exec sleep 20", 1.5)[0] is None


def test_a_short_limit_is_that_of_all() -> None:
    assert not run._limits_boot(Job(("true",), timeout_s=0.4))
    assert run._limits_boot(Job(("true",), timeout_s=None))
    assert not run._limits_boot(Job((), timeout_s=None, interactive=True))
