# SPDX-License-Identifier: GPL-2.0-only
"""This test will link nothing of two boots, whatever tells that there were two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_stacks import Shown, explained, named
from writestall.log import reading
from writestall.log.links import explain_log
from writestall.log.reading import read_log

FSYNC = "schedule jbd2_log_wait_commit/jbd2 ext4_sync_file/ext4 do_fsync"
COMMIT = (
    "io_schedule __wait_on_buffer jbd2_journal_commit_transaction/jbd2 kjournald2/jbd2"
)
WAITS, HOLDS = Shown("mailer", 41, FSYNC), Shown("jbd2/sdc1-8", 42, COMMIT)
KERNEL = "      Not tainted 6.18.2 #1"


def stamped(lines: list[str], seconds: float) -> list[str]:
    """The same lines as the kernel prints them, from this time on."""
    return [f"[{seconds + at / 1000:12.6f}] {line}" for at, line in enumerate(lines, 1)]


def of_kernel(task: Shown, words: str) -> list[str]:
    """A report whose second line is this one."""
    return [line.replace(KERNEL, f"      {words}") for line in task.report()]


def test_one_boot_is_linked() -> None:
    assert named(explained(WAITS.report(), HOLDS.report())) == {
        "mailer": ("jbd2/sdc1-8", "likely")
    }


def test_lockdeps_own_line_of_the_kernel_shows_a_boot() -> None:
    """kernel/locking/lockdep.c print_kernel_ident(): the release comes first."""
    splat = ["WARNING: possible circular locking dependency", "6.18.2 #1 Not tainted"]
    answer = explained(
        stamped(WAITS.report(), 259), stamped(splat, 112), stamped(HOLDS.report(), 256)
    )
    assert not answer.links


@pytest.mark.parametrize(
    ("first", "then", "linked"),
    [
        ("Not tainted 6.18.2 #1", "Not tainted 6.18.3 #1", False),
        ("Tainted: G           OE      6.1.0-9-amd64 #1 Debian 6.1.27-1", "", False),
        ("Not tainted 6.18.2 #1", "Tainted: G        W           6.18.2 #1", True),
        ("Not tainted", "Not tainted 6.18.2 #1", True),
    ],
)
def test_the_kernel_of_a_report(first: str, then: str, linked: bool) -> None:
    """kernel/hung_task.c: a host has one kernel at a time."""
    answer = explained(
        of_kernel(WAITS, first), of_kernel(HOLDS, then or "Not tainted 6.18.2 #1")
    )
    assert bool(answer.links) is linked


@pytest.mark.parametrize(
    ("seconds", "linked"), [(9000.0, True), (8990.0, True), (130.0, False)]
)
def test_time_that_falls_back(seconds: float, linked: bool) -> None:
    """It counts from the boot; the lines of two CPUs may change places."""
    answer = explained(
        stamped(WAITS.report(), 9000.0), stamped(HOLDS.report(), seconds)
    )
    assert bool(answer.links) is linked


@pytest.mark.parametrize(
    "line",
    [
        "Linux version 6.18.2 (gcc version 14) #1",
        "Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1",
        "Kernel command line: console=ttyS0",
        "-- Boot 4f1c --",
    ],
)
def test_lines_that_only_a_boot_has(line: str) -> None:
    """Also far from the stacks, where most lines are passed over."""
    noise = ["usb 1-1: new device"] * 200
    lines = [*WAITS.report(), *noise, line, *noise, *HOLDS.report()]
    found = reading.read(["\n".join(lines).encode()]).tasks
    assert len(found) == 2 and explain_log(found).links == {}


def test_a_task_that_ran_before_it_hung_is_no_report_again() -> None:
    """A warning's stack first; then both hang, at one time."""
    warning = [
        "WARNING: CPU: 1 PID: 42 at fs/jbd2/journal.c:12 jbd2_journal_check+0x1/0x2",
        "CPU: 1 UID: 0 PID: 42 Comm: jbd2/sdc1-8 Not tainted 6.18.2 #1",
        "Call Trace:",
        *(f" {name}+0x1/0x9" for name in ("jbd2_journal_check", "kjournald2")),
    ]
    answer = explained(warning, WAITS.report(), HOLDS.report())
    assert named(answer) == {"mailer": ("jbd2/sdc1-8", "likely")}


BOOTS = st.lists(
    st.tuples(st.sampled_from(["6.1.27", "6.18.2"]), st.booleans()), max_size=8
)


@given(BOOTS)
def test_no_link_joins_two_kernels(drawn: list[tuple[str, bool]]) -> None:
    lines: list[str] = []
    kernels: dict[int, str] = {}
    for at, (kernel, waits) in enumerate(drawn, 1):
        task = Shown(f"t{at}", at, FSYNC if waits else COMMIT)
        lines += of_kernel(task, f"Not tainted {kernel} #1")
        kernels[at] = kernel
    for link in explain_log(read_log(lines)).links.values():
        waiter, holder = link.waiter.task.pid, link.holder.task.pid
        assert waiter and holder and kernels[waiter] == kernels[holder]
