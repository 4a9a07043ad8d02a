# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the task on a CPU that others wait for, if no stuck one fits."""

from __future__ import annotations

from log_stacks import Shown, explained, named
from writestall.log.headline import sentence
from writestall.log.links import POSSIBLE

WAITS = Shown("cleaner", 1, "schedule wait_current_trans/btrfs start_transaction/btrfs")
COMMIT = "btrfs_commit_transaction/btrfs transaction_kthread/btrfs kthread"
FRAMES = ("btrfs_qgroup_account_extents", *COMMIT.replace("/btrfs", "").split())
BACKTRACE = [
    "NMI backtrace for cpu 65",
    "CPU: 65 PID: 1550 Comm: btrfs-transacti Not tainted 6.18.2 #1",
    "Call Trace:",
    *(f" {name}+0x10/0x90" for name in FRAMES),
]


def _at(seconds: int, *lines: str) -> list[str]:
    return [f"[{seconds:5}.125000] {line}" for line in lines]


def test_a_commit_that_a_cpu_runs() -> None:
    answer = explained(_at(100, *WAITS.report()), _at(101, *BACKTRACE))
    assert named(answer) == {"cleaner": ("btrfs-transacti", POSSIBLE)}
    said = sentence(answer, "log")
    assert said.startswith("1 stuck task in log: ")
    assert "which runs, in btrfs_qgroup_account_extents()" in said


def test_a_stuck_one_comes_first() -> None:
    stuck = Shown("btrfs-commits", 2, f"schedule {COMMIT}")
    both = [*WAITS.report(), *stuck.report()]
    answer = explained(_at(100, *both), _at(101, *BACKTRACE))
    assert named(answer)["cleaner"][0] == "btrfs-commits"


def test_a_stack_of_crash_that_does_not_sleep() -> None:
    names = ("__detach_extent_node", "f2fs_write_node_page", "writeback_sb_inodes")
    text = ['PID: 14997  TASK: ffffff81  CPU: 3  COMMAND: "kworker/u16:0"']
    text += [
        f" #{at} [ffffffc019f8b7{at}0] {name} at ffffffc0088d5a5{at}"
        for at, name in enumerate(names)
    ]
    waits = Shown("init", 1, "schedule wb_wait_for_completion sync_inodes_sb")
    links = named(explained(waits.report(), text))
    assert links == {"init": ("kworker/u16:0", POSSIBLE)}


def test_where_one_function_s_code_is_is_no_stack() -> None:
    """What scripts/faddr2line is given, and what it prints."""
    place = "btrfs_commit_transaction+0x219/0x7ac"
    assert explained([place, f"{place}:"]).tasks == ()
