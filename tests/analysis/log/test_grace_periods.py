# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the task that RCU says its grace period waits for."""

from __future__ import annotations

import pytest

from log_stacks import Shown, explained, named
from writestall.log.headline import sentence
from writestall.log.links import LIKELY

WAITS = Shown("umount", 1, "schedule wait_for_completion __wait_rcu_gp synchronize_rcu")
BOOSTS = Shown("rcub/0", 19, "schedule rt_mutex_lock rcu_boost_kthread kthread")
SLEEPS = Shown("reader", 3560, "schedule rt_spin_lock ei_start_xmit dev_queue_xmit")
CPU = [
    "NMI backtrace for cpu 2",
    "CPU: 2 UID: 0 PID: 1318 Comm: ntpd Not tainted 6.18.2 #1",
    "Call Trace:",
    *(f" {name}+0x10/0x90" for name in ("do_fault", "handle_mm_fault", "do_syscall")),
]
OTHER_CPU = [line.replace(" 2", " 5").replace("1318", "7") for line in CPU]
STALL = "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"
NODE = "rcu: \tTasks blocked on level-0 rcu_node (CPUs 0-3):"
EXPEDITED = "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {"
SELF = "INFO: rcu_sched self-detected stall on CPU"


def _at(seconds: int, *lines: str) -> list[str]:
    return [f"[{seconds:5}.125000] {line}" for line in lines]


@pytest.mark.parametrize(
    "lines",
    [
        [STALL, f"{NODE} P3560/6:b..l"],
        [STALL, f"{NODE} P3560"],
        [STALL, NODE, " P3560/1:b..l"],
        [f"{EXPEDITED} P3560 }} 2685 jiffies s: 1981 root: 0x2/."],
        [EXPEDITED, " P3560", " } 2685 jiffies s: 1981 root: 0x2/."],
    ],
)
def test_a_task_that_was_preempted_in_a_reader(lines: list[str]) -> None:
    stuck = [*WAITS.report(), *BOOSTS.report(), *SLEEPS.report()]
    answer = explained(_at(100, *lines, *stuck))
    both = dict.fromkeys(("umount", "rcub/0"), ("reader", LIKELY))
    assert named(answer) == both
    assert "3 of them come down to reader/3560" in sentence(answer, "log")


@pytest.mark.parametrize(
    "lines",
    [
        [STALL, "rcu: \t2-...0: (1 GPs behind) idle=1ba4/1/0x4000 softirq=1/2 fqs=3"],
        [f"{EXPEDITED} 2-...D }} 2685 jiffies s: 1981 root: 0x2/."],
        [EXPEDITED, " 2-...D", " } 2685 jiffies s: 1981 root: 0x2/."],
        [EXPEDITED, " 2-... } 5696 jiffies s: 81 root: 0x1/."],
        [SELF, "\t2: (1 GPs behind) idle=e59/140000000000001/0 softirq=1/2 fqs=3"],
        [f"{SELF} {{ 2}}  (t=65000 jiffies g=8 c=7 q=42)"],
        [f"{STALL} {{ 2}} (detected by 0, t=60002 jiffies, g=8, c=7, q=4)"],
    ],
)
def test_the_task_of_a_cpu(lines: list[str]) -> None:
    """Of the CPUs whose backtraces follow, RCU names one."""
    answer = explained(_at(100, *lines, *OTHER_CPU, *CPU, *WAITS.report()))
    assert named(answer) == {"umount": ("ntpd", LIKELY)}
    assert "ntpd/1318 (other), which runs, in do_fault()" in sentence(answer, "log")


def test_one_that_was_preempted_and_runs() -> None:
    """The kernel doubts its whole stack, but not that it is the one."""
    names = ("__schedule", "sysvec_apic_timer_interrupt", "lookup_fast", "vfs_statx")
    head = "task:rsync      state:R  running task     stack:0     pid:4779  tgid:4779"
    shown = [head, "Call Trace:", *(f" ? {name}+0x10/0x90" for name in names)]
    stall = [STALL, f"{NODE} P4779/1:b..l", *shown]
    answer = explained(_at(100, *stall, *WAITS.report()))
    assert named(answer) == {"umount": ("rsync", LIKELY)}
    assert "which runs, in lookup_fast()" in sentence(answer, "log")


def test_of_two_it_names_none() -> None:
    two = [STALL, f"{NODE} P3560 P19"]
    stuck = [*WAITS.report(), *BOOSTS.report(), *SLEEPS.report()]
    assert not named(explained(_at(100, *two, *stuck)))


def test_who_waits_for_other_things_is_not_linked() -> None:
    other = Shown("cat", 5, "schedule wait_for_completion some_driver_read vfs_read")
    lines = [STALL, f"{NODE} P3560", *other.report(), *SLEEPS.report()]
    assert not named(explained(_at(100, *lines)))


@pytest.mark.parametrize(
    "between",
    [["Linux version 6.18.2 (a@b) #1"], []],
    ids=["another boot", "hours later"],
)
def test_another_moment_is_none_of_it(between: list[str]) -> None:
    stall = _at(100, STALL, f"{NODE} P3560")
    later = _at(9, *between, *WAITS.report(), *SLEEPS.report()) if between else []
    late = _at(9000, *WAITS.report(), *SLEEPS.report())
    assert not named(explained(stall, later or late))


def test_a_backtrace_without_a_stall_names_nobody() -> None:
    assert not named(explained(_at(100, *CPU, *WAITS.report())))
