# SPDX-License-Identifier: GPL-2.0-only
"""This test will count no task as stuck whose stack shows that it does not sleep."""

from __future__ import annotations

from pathlib import Path

import pytest

from linked_stacks import STACKS
from log_stacks import Shown, explained
from writestall.cli.main import main
from writestall.log.text import log_json, report

Capture = pytest.CaptureFixture[str]


def frames(*names: str, before: str = " ") -> str:
    """Frames of these functions, innermost first."""
    return "\n".join(f"{before}{name}+0x1f/0x2a0" for name in names)


RCU = (
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nCall Trace:\n <IRQ>\n"
    + frames("sched_show_task", "rcu_dump_cpu_stacks", "start_this_handle")
)
KASAN = (
    "BUG: KASAN: slab-out-of-bounds in do_get_write_access+0x1c/0x90\n"
    "Allocated by task 77:\n"
    + frames("kasan_save_stack", "kmem_cache_alloc", "start_this_handle", "vfs_write")
    + "\nFreed by task 78:\n"
    + frames("kasan_save_stack", "kfree", "jbd2_journal_commit_transaction")
)
KMEMLEAK = (
    'unreferenced object 0xffff8801 (size 64):\n  comm "mount", pid 7, jiffies 1\n'
    "  backtrace:\n"
    + frames("kmemleak_alloc", "ext4_fill_super", before="    [<000000003f1>] ")
)
LOCKDEP = "-> #1 (&journal->j_barrier){+.+.}-{3:3}:\n" + frames(
    "lock_acquire", "__mutex_lock", "jbd2_journal_lock_updates", before="       "
)
ODEBUG = "ODEBUG: free active (active state 0) object: 00 type: timer_list\n" + frames(
    "debug_print_object", "debug_check_no_obj_freed", "kfree", "ext4_put_super"
)
PANIC = (
    'PID: 31  TASK: ffff88810  CPU: 2  COMMAND: "tar"\n'
    + "\n".join(
        f" #{at} [ffffc9000{at}] {name} at ffffffff8100a1b{at}"
        for at, name in enumerate(
            ("machine_kexec", "__crash_kexec", "panic", "ext4_handle_error")
        )
    )
    + "\n"
)
PERF = (
    "dd 41 [002] 11.000001: sched:sched_switch: prev_comm=dd prev_pid=41\n"
    "        ffffffff81555c49 __schedule+0x119 ([kernel.kallsyms])\n"
    "        ffffffff817cd972 schedule+0x2b ([kernel.kallsyms])\n"
    "        ffffffff81af93cf wait_transaction_locked+0x36 ([kernel.kallsyms])\n"
)
GLIBC = (
    "*** glibc detected *** ./prog: double free or corruption: 0x08 ***\n"
    "======= Backtrace: =========\n"
    "/lib64/libc.so.6(start_this_handle+0x1d9)[0x7f5a1b2c]\n"
    "./prog(main+0x1f)[0x400b6d]\n"
    "./prog(submit_bio_wait+0x3a) [0x400b6d]\n"
)
KINDS = {
    "RCU": RCU,
    "KASAN": KASAN,
    "kmemleak": KMEMLEAK,
    "lockdep": LOCKDEP,
    "ODEBUG": ODEBUG,
    "perf script": PERF,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_that_is_no_sleep_is_said(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    """Alone it is refused by its name; beside a stuck task it is left out."""
    log = tmp_path / "pasted"
    log.write_text(KINDS[kind])
    for given in (["--log", str(log)], [str(log)]):
        assert main(["explain", *given]) == 2
        out, err = capsys.readouterr()
        assert not out and "no stuck task" in err and kind in err
        assert len(err.splitlines()) == 1
    fsync = Shown("db", 9, STACKS["fsync"]).report()
    answer = explained([*KINDS[kind].splitlines(), "", *fsync])
    assert [row.name for row in answer.tasks] == ["db/9"]
    assert any(kind in line for line in report(answer, "log"))
    assert sum(log_json(answer)["no_sleep"].values()) in (1, 2)


# A splat of lockdep, whose stacks begin where a lock was taken.
CIRCLE = """WARNING: possible circular locking dependency detected
-> #1 (&q->q_usage_counter(io)#7){++++}-{0:0}:
       bio_queue_enter block/blk.h:75 [inline]
       blk_mq_submit_bio+0x4a2/0x9e0 block/blk-mq.c:3092
       submit_bio_noacct_nocheck+0x1b1/0x3d0 block/blk-core.c:739
       submit_bh fs/buffer.c:2819 [inline]
-> #0 (&q->limits_lock){+.+.}-{4:4}:
       __mutex_lock+0x9b/0x8a0 kernel/locking/mutex.c:735
       blk_mq_freeze_queue_wait+0x21/0x80 block/blk-mq.c:181
       queue_ra_store+0x7c/0xc0 block/blk-sysfs.c:66
"""


def test_a_chain_of_lockdep_that_ends_in_a_sleep_is_no_stuck_task() -> None:
    assert explained(CIRCLE.splitlines()).tasks == ()
    hung = "INFO: task tar:31 blocked for more than 122 seconds.\nCall Trace:\n"
    answer = explained((CIRCLE + hung + frames("my_driver_poll")).splitlines())
    assert [row.name for row in answer.tasks] == ["tar/31"] and not answer.links


def test_a_task_that_panics_is_not_stuck() -> None:
    """crash(8) shows it as any other, but it runs."""
    assert explained(PANIC.splitlines()).tasks == ()


def test_a_backtrace_of_glibc_is_no_stack(tmp_path: Path, capsys: Capture) -> None:
    """backtrace_symbols_fd(3), whatever the functions are called."""
    log = tmp_path / "pasted"
    log.write_text(GLIBC)
    assert main(["explain", "--log", str(log)]) == 2
    assert "backtrace of glibc" in capsys.readouterr().err
    assert explained(GLIBC.splitlines()).tasks == ()


@pytest.mark.parametrize(
    ("stack", "counted"),
    [
        (frames("schedule", "my_driver_wait", "vfs_ioctl"), True),
        (frames("jbd2_log_wait_commit", "ext4_sync_file"), True),
        (frames("my_driver_poll", "vfs_ioctl"), False),
        (frames("my_driver_wait", "vfs_ioctl", before="[<0>] "), True),
        ("Call Trace:\n" + frames("dump_stack", "blk_mq_get_tag"), False),
        ("# cat /proc/31/stack\n" + frames("my_driver_wait", "vfs_ioctl"), True),
    ],
)
def test_a_stack_without_a_head(stack: str, counted: bool) -> None:
    """It sleeps if schedule(), or a function that a rule knows to sleep, is innermost;
    /proc/PID/stack leaves schedule() out."""
    assert bool(explained(stack.splitlines()).tasks) is counted


def test_the_kernels_word_counts_more() -> None:
    """A report of a hung task, or state D, is enough."""
    hung = "INFO: task tar:31 blocked for more than 122 seconds.\nCall Trace:\n"
    answer = explained((hung + frames("my_driver_poll")).splitlines())
    assert [row.name for row in answer.tasks] == ["tar/31"]


def test_tasks_that_only_wait_for_work_are_not_stuck(
    tmp_path: Path, capsys: Capture
) -> None:
    log = tmp_path / "pasted"
    log.write_text("\n".join(Shown("tar", 31, STACKS["fsync"], state="S").lines()))
    assert main(["explain", "--log", str(log)]) == 0
    assert "no stuck task in" in capsys.readouterr().out
