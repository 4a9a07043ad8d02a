# SPDX-License-Identifier: GPL-2.0-only
"""This test will parse stacks of other architectures, tools and old releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from writestall.classify.frames import Frame
from writestall.common.compressed import Bound
from writestall.log import cuts, remarks
from writestall.log.links import LIKELY, POSSIBLE, explain_log
from writestall.log.reading import LoggedTask, read_log


def tasks(text: str) -> list[LoggedTask]:
    """All stacks of a text."""
    return read_log(text.splitlines())


def names(task: LoggedTask) -> str:
    """The reliable frames, innermost first."""
    return " ".join(frame.symbol for frame in task.frames)


def test_decoded_stacks() -> None:
    """scripts/decode_stacktrace.sh: files and lines instead of offsets."""
    (task,) = tasks(
        "Apr 01 10:00:00 host kernel: task:xfsaild/vdb   state:D stack:0  pid:77\n"
        "Apr 01 10:00:00 host kernel: Call Trace:\n"
        "Apr 01 10:00:00 host kernel: __schedule (kernel/sched/core.c:11 a/b.h:3)\n"
        "Apr 01 10:00:00 host kernel: ? __pfx_wbt_inflight_cb (block/blk-wbt.c:5)\n"
        "Apr 01 10:00:00 host kernel: rq_qos_wait (block/blk-rq-qos.c:2 "
        "(discriminator 4))\n"
        "Apr 01 10:00:00 host kernel: xfsaild (fs/xfs/xfs_trans_ail.c:7) xfs\n"
        "Apr 01 10:00:00 host kernel: kthread (??:?)\n"
    )
    assert names(task) == "__schedule rq_qos_wait xfsaild kthread"
    assert (task.comm, task.pid, task.frames[2].module) == ("xfsaild/vdb", 77, "xfs")
    assert len(task.guesses) == 5
    assert tasks("see do_fsync (fs/sync.c:208), which sleeps\n") == []


def test_inlined_functions() -> None:
    """syzkaller prints them, with a file and a line after each frame."""
    (task,) = tasks(
        "task:syz.1.2         state:D stack:27208 pid:61    tgid:60    ppid:5\n"
        "Call Trace:\n <TASK>\n"
        " context_switch kernel/sched/core.c:53 [inline]\n"
        " __schedule+0x16f3/0x4c20 kernel/sched/core.c:69\n"
        " down_write+0x1a/0x20 kernel/locking/rwsem.c:1\n"
        " inode_lock include/linux/fs.h:-1 [inline]\n"
        " fat_file_fsync+0x3d/0x180 fs/fat/file.c:19\n"
        " </TASK>\n"
    )
    assert names(task) == (
        "context_switch __schedule down_write inode_lock fat_file_fsync"
    )
    assert explain_log([task]).tasks[0].verdict.cls == "inode_lock"


def test_arm() -> None:
    """arch/arm: each line names the caller of the line before."""
    (task,) = tasks(
        "kworker/u8:2    D    0   163      2 0x00000000\n"
        "[<808a5ecc>] (__schedule) from [<808a6544>] (schedule+0x50/0xa8)\n"
        "[<808a6544>] (schedule) from [<7f50b754>] (wait_for_commit+0x12/0x15 "
        "[btrfs])\n"
        "[<7f50b754>] (wait_for_commit [btrfs]) from [<8013d8a4>] "
        "(kthread+0x13/0x160)\n"
    )
    assert names(task) == "schedule wait_for_commit kthread"
    assert (task.comm, task.pid) == ("kworker/u8:2", 163)


def test_powerpc_with_dots() -> None:
    """ELFv1 (arch/powerpc/include/asm/ppc_asm.h, _GLOBAL): code has a dotted name."""
    (task,) = tasks(
        "Call Trace:\n"
        "[c00000000135b2d0] [c00000000028f614] .__schedule+0x80/0x7d4 (unreliable)\n"
        "[c00000000135b3d0] [c000000000283a8c] .schedule+0x118/0x294\n"
        "[c00000000135b4b0] [c000000000283d34] .get_request_wait+0x12c/0x174\n"
        "[c00000000135b580] [d000000000205a44] .xfs_buf_iorequest+0x3c/0x4c [xfs]\n"
        "[c00000000135b750] [c0000000001ff8fc] .kthread+0x24/0x38\n"
    )
    assert names(task) == (
        "__schedule schedule get_request_wait xfs_buf_iorequest kthread"
    )
    assert task.frames[3].module == "xfs"


def test_free_stack_in_the_head() -> None:
    """CONFIG_DEBUG_STACK_USAGE before 5.11: four digits or five, and no space left."""
    frame = " do_get_write_access+0x1c6/0x38d [jbd2]\n"
    for head in (
        "mount           D 8448  7722   7490 0x00040008\n",
        "mount           D12824  7722      2 0x00000080\n",
        "mount           D 0000000100010c14  2512  7722      2 0x00000000\n",
    ):
        (task,) = tasks(head + "Call Trace:\n" + frame)
        assert (task.comm, task.state, task.pid) == ("mount", "D", 7722), head
    (task,) = tasks("at address D12 34 56 7\n" + frame)
    assert task.comm is None


def test_stacks_of_proc_that_run_on() -> None:
    """No name between them: ULONG_MAX ends one before 5.2, the entry code since."""
    old = (
        "20761 [<ffffffffa0305fdd>] xlog_grant_head_wait+0xdd/0x1a0 [xfs]\n"
        "[<ffffffff81168f9c>] sys_open+0x1c/0x20\n"
        "[<ffffffffffffffff>] 0xffffffffffffffff\n"
        "20762 [<ffffffffa0305fdd>] sleep_on_page+0x9/0xd\n"
    )
    assert [names(task) for task in tasks(old)] == [
        "xlog_grant_head_wait sys_open",
        "sleep_on_page",
    ]
    new = (
        "[<0>] raise_barrier+0xce/0x1c0\n[<0>] kthread+0xbe/0xf0\n"
        "[<0>] ret_from_fork+0x34/0x50\n[<0>] ret_from_fork_asm+0x1a/0x30\n"
        "[<0>] wait_barrier+0x1de/0x220\n[<0>] do_syscall_64+0x3b/0x90\n"
        "[<0>] entry_SYSCALL_64_after_hwframe+0x46/0xb0\n"
        "[<0>] rq_qos_wait+0x30/0xf8\n[<0>] el0_svc+0x30/0xf8\n"
        "[<0>] el0t_64_sync_handler+0x12/0x13\n[<0>] el0t_64_sync+0x12/0x13\n"
        "[<0>] msleep+0x30/0xf8\n"
    )
    assert [names(task).split()[0] for task in tasks(new)] == [
        "raise_barrier",
        "wait_barrier",
        "rq_qos_wait",
        "msleep",
    ]


def test_pointers_to_functions_are_no_guesses() -> None:
    """`f+0x0` and `e+0x70/0x70` are addresses of callbacks, not return addresses."""
    (task,) = tasks(
        "jbd2/sda2-8     D 0000000000000000     0   982      2 0x00000000\n"
        "Call Trace:\n"
        " [<ffffffff810810f0>] ? __lock_page+0x70/0x70\n"
        " [<ffffffff813d5174>] ? io_schedule+0x84/0xd0\n"
        " [<ffffffff810810f9>] ? sleep_on_page+0x9/0x10\n"
        " [<ffffffff810812eb>] ? wait_on_page_bit+0x6b/0x80\n"
        " [<ffffffff81052a20>] ? autoremove_wake_function+0x0/0x38\n"
        " [<ffffffff81081f2a>] ? filemap_fdatawait_range+0xfa/0x180\n"
        " [<ffffffff81176276>] ? jbd2_journal_commit_transaction+0x796/0x1270\n"
    )
    shown = [frame.symbol for frame in task.guesses]
    assert shown[0] == "io_schedule" and "autoremove_wake_function" not in shown
    (stuck,) = explain_log([task]).tasks
    assert (stuck.verdict.cls, stuck.guessed) == ("page_writeback", True)


def test_guesses_do_not_overrule_what_is_known() -> None:
    """Unreliable frames are ignored in a stack that the kernel could unwind."""
    (stuck,) = explain_log(
        tasks(
            "task:tar             state:D stack:0     pid:6    ppid:2\nCall Trace:\n"
            " __schedule+0x3cc/0x1420\n schedule+0x29/0xd0\n"
            " unheard_of_wait+0x7e/0x160\n ? mempool_alloc+0x54/0x180\n"
            " do_syscall_64+0x75/0x120\n"
        )
    ).tasks
    assert (stuck.verdict.cls, stuck.guessed) == ("other", False)


def test_running_tasks_are_not_stuck() -> None:
    """khungtaskd makes all CPUs show what they run; an idle one shows its idle loop."""
    answer = explain_log(
        tasks(
            "CPU: 1 PID: 31 Comm: khungtaskd Not tainted 6.9.0 #1\nCall Trace:\n"
            " nmi_cpu_backtrace+0x9/0x10\n watchdog+0xf7/0x120\n kthread+0x2f/0x3a\n\n"
            "CPU: 0 PID: 0 Comm: swapper/0 Not tainted 6.9.0 #1\nCall Trace:\n"
            " default_idle+0x9/0x10\n do_idle+0x1f/0x2c\n cpu_startup_entry+0x4/0x6\n"
        )
    )
    assert answer.tasks == () and answer.not_stuck == 2


def test_crash() -> None:
    """crash(8), `foreach UN bt -s`: addresses after the functions, then the module."""
    found = explain_log(
        tasks(
            'PID: 501    TASK: ffff8801ff7f2ae0  CPU: 2   COMMAND: "kworker/u4:1"\n'
            " #0 [ffff8801ff7f3c68] schedule+70 at ffffffff8150d5c2\n"
            " #1 [ffff8801ff7f3d30] schedule_timeout+40 at ffffffff8150e4f5\n"
            " #2 [ffff8801ff7f3d68] down+73 at ffffffff8109d1c9\n"
            " #3 [ffff8801ff7f3d88] xfs_buf_lock+5 at ffffffffa02f9f8b [xfs]\n"
            " #4 [ffff8801ff7f3da8] xfs_buf_get_map+5 at ffffffffa02f9f8c [xfs]\n"
            " #5 [ffff8801ff7f3dc8] xfs_buf_read_map+5 at ffffffffa02f9f8d [xfs]\n"
            " #6 [ffff8801ff7f3de8] xfs_vm_writepages+5 at ffffffffa02f9f8e [xfs]\n"
            " #7 [ffff8801ff7f3e58] wb_writeback+30 at ffffffff811d78a8\n\n"
            'PID: 502    TASK: ffff8801ff7f5ae0  CPU: 0   COMMAND: "dd"\n'
            " #0 [ffff8801ff7f6c68] schedule at ffffffff8150d5c2\n"
            " #1 [ffff8801ff7f6d30] xlog_grant_log_space at ffffffffa02e54f5 [xfs]\n"
            " #2 [ffff8801ff7f6de0] xfs_log_reserve at ffffffffa02e7db8 [xfs]\n"
            " #3 [ffff8801ff7f6e58] xfs_file_aio_write at ffffffffa02f9f8b [xfs]\n"
            " #4 [ffff8801ff7f6ee8] system_call_fastpath at ffffffff8100b0f2\n"
            "    RIP: 00007f3d3b0db620  RSP: 00007fff5a1f0dd8  RFLAGS: 00010246\n"
        )
    ).tasks
    assert [(it.task.pid, it.role, it.verdict.cls) for it in found] == [
        (501, "writeback", "fs_lock"),
        (502, "writer", "log_space"),
    ]
    assert found[0].task.frames[4] == Frame("xfs_buf_get_map", "xfs")


def test_the_times_of_dmesg_reltime() -> None:
    """util-linux, dmesg --reltime: the time since the previous line, with a plus."""
    (task,) = tasks(
        "[Nov 3 10:00] Showing what is stuck\n"
        "[  +0.000071] dd              D ffff88045f214580     0  77   1 0x00000000\n"
        "[  +0.000002] Call Trace:\n"
        "[  +5.000009] io_schedule (kernel/sched/core.c:7)\n"
        "[  +0.000001] blk_mq_get_tag (block/blk-mq-tag.c:7)\n"
    )
    assert (task.comm, task.pid, names(task)) == (
        "dd",
        77,
        "io_schedule blk_mq_get_tag",
    )


def test_a_work_on_a_line_of_its_own() -> None:
    """A mailer cut `Workqueue:`; the disk's numbers are no line of a file."""
    (task,) = tasks(
        "task:kworker/u8:2    state:D stack:0     pid:97\n"
        "Workqueue: writeback\nwb_workfn (flush-253:4)\nCall Trace:\n"
        " schedule+0x2c/0x70\n xfs_map_blocks+0xab/0x450 [xfs]\n"
    )
    assert task.workqueue == "writeback wb_workfn (flush-253:4)"
    assert names(task) == "schedule xfs_map_blocks"


def test_a_kernel_that_marks_no_doubtful_frames() -> None:
    """Up to 2.6.24: what was called before the sleep stands in front of it, what is
    left of the thread's begin behind its end, callbacks anywhere."""
    (task,) = tasks(
        "kjournald     D 00000000     0  6790      1                6745 (L-TLB)\n"
        "f104ddcc 00000000 c1808320 00000000 00000000 f76cb2b0 c011b591 dfcc3a90\n"
        "Call Trace:\n"
        " [<c011b591>] mempool_alloc+0x41/0x70\n"
        " [<c0315766>] io_schedule+0x26/0x30\n"
        " [<c016af13>] sync_buffer+0x53/0x60\n"
        " [<c0151aaa>] submit_bh+0x128/0x14e\n"
        " [<c011b591>] mempool_alloc+0x41/0x70\n"
        " [<c03158f5>] __wait_on_bit+0x45/0x70\n"
        " [<c016aec0>] sync_buffer+0x0/0x60\n"
        " [<c0151aaa>] __wait_on_buffer+0x28/0x4e\n"
        " [<f9d57ca7>] journal_commit_transaction+0xba7/0x13a0 [jbd]\n"
        " [<c011b591>] mempool_alloc+0x41/0x70\n"
        " [<f9d5aa45>] kjournald+0xa5/0x220 [jbd]\n"
        " [<c0102fa2>] ret_from_fork+0x6/0x14\n"
        " [<f9d5a990>] commit_timeout+0x4/0x10 [jbd]\n"
        " [<c0101225>] kernel_thread_helper+0x5/0x10\n"
    )
    inside = "journal_commit_transaction mempool_alloc kjournald"
    sleep = "io_schedule sync_buffer __wait_on_bit __wait_on_buffer"
    assert names(task).startswith(f"{sleep} {inside}")
    assert "commit_timeout" not in names(task)
    (task,) = tasks(
        "dd            D 00000000     0  6790      1                6745 (NOTLB)\n"
        " [<c011b591>] mempool_alloc+0x41/0x70\n"
        " [<c0102fa2>] rpc_wait_bit_interruptible+0x6/0x14\n"
        " [<c03158f5>] __wait_on_bit+0x45/0x70\n [<c0101225>] nfs_wait+0x5/0x10\n"
    )
    assert names(task) == "rpc_wait_bit_interruptible __wait_on_bit nfs_wait"


def test_x86_64_before_2_6_25() -> None:
    """Braces and decimal offsets, several frames in a line, the module in front."""
    (kswapd, nfsd) = tasks(
        "kswapd0       D ffff81011fe03c38     0   297      1          1287    19 "
        "(L-TLB)\n"
        "Call Trace: <ffffffff804e5522>{schedule_timeout+34}\n"
        "       <ffffffff80269f87>{:xfs:xfs_qm_dqunpin_wait+220} "
        "<ffffffff80123fa4>{default_wake_function+0} "
        "<ffffffff8013d3e0>{as_work_handler+0}\n"
        "       <ffffffff801582e8>{kswapd+283} <ffffffff8010bba6>{child_rip+8}\n"
        "nfsd          D ffff81023dc3fb88     0  3269      1          3270  3268 "
        "(L-TLB)\n"
        "Call Trace:\n"
        " [<ffffffff80062ff8>] thread_return+0x62/0xfe\n"
        " [<ffffffff88033d42>] :jbd:log_wait_commit+0xa3/0xf5\n"
        " [<ffffffff80062ff8>] __down_read+0x12/0x92\n"
    )
    assert names(kswapd) == "schedule_timeout xfs_qm_dqunpin_wait kswapd child_rip"
    assert names(nfsd) == "thread_return log_wait_commit __down_read"
    assert (kswapd.frames[1].module, nfsd.frames[1].module) == ("xfs", "jbd")


def test_a_worker_without_its_line() -> None:
    """Who pasted it left the task's line out, behind a report of lockdep."""
    (chain, task) = tasks(
        "-> #0 ((work_completion)(&gc->work)){+.+.}-{0:0}:\n"
        " lock_acquire+0x197/0x460\n __flush_work+0x6bc/0xa20\n"
        " *** DEADLOCK ***\n...\n"
        "Workqueue: xfs-inodegc/sda xfs_inodegc_worker\nCall Trace:\n"
        " schedule+0xbf/0x270\n __flush_work+0x4c4/0xa40\n"
    )
    assert (task.workqueue, task.trace) == ("xfs-inodegc/sda xfs_inodegc_worker", None)
    assert (names(task), chain.trace) == ("schedule __flush_work", "chains of lockdep")


def test_a_function_that_a_text_mentions() -> None:
    """One frame inside other words is no stack; with more of them it is."""
    assert tasks("crash> l *ext4_sync_file+0x1d8\n") == []
    assert tasks("it sleeps in jbd2_log_wait_commit+0x9/0x10 for ever\n") == []
    assert len(tasks("jbd2_log_wait_commit+0x9/0x10\n")) == 1
    two = "at jbd2_log_wait_commit+0x9/0x10,\nthen ext4_sync_file+0x9/0x10\n"
    assert [names(task) for task in tasks(two)] == [
        "jbd2_log_wait_commit ext4_sync_file"
    ]


PROSE = "I think\nthis one is\nwhat holds up\nthe others,\nlook:\n"


def test_the_rest_of_a_stack_that_prose_cuts_off() -> None:
    """Nobody sleeps in it, so it is no stack of another task, and a doubtful one."""
    head = "task:tidy            state:D stack:0     pid:97\nCall Trace:\n"
    begin = " schedule+0x2c/0x70\n jbd2_log_wait_commit+0xab/0x450\n"
    rest = " ext4_sync_file+0x9/0x10\n do_fsync+0x9/0x10\n"
    (joined,) = tasks(head + begin + PROSE + rest)
    assert names(joined).endswith("jbd2_log_wait_commit ext4_sync_file do_fsync")
    assert explain_log([joined]).tasks[0].guessed
    # What sleeps, has a head, is of /proc, or stands after a whole stack is a task.
    for other in (
        " schedule+0x2c/0x70\n" + rest,
        "Call Trace:\n" + rest,
        "tidy/98:\n" + rest,
        "[<0>] ext4_sync_file+0x9/0x10\n",
    ):
        assert len(tasks(head + begin + PROSE + other)) == 2, other
    whole = head + begin + " ret_from_fork+0x22/0x30\n"
    assert len(tasks(whole + PROSE + rest)) == 2


def test_what_a_cpu_runs_is_not_stuck() -> None:
    """lib/dump_stack.c dump_stack_print_info() names the task that prints."""
    for before in (
        "BUG: kernel NULL pointer dereference",
        "watchdog: BUG: soft lockup",
    ):
        (task,) = tasks(
            f"{before}\nCPU: 27 UID: 0 PID: 4299 Comm: copier Not tainted 6.12.24 #5\n"
            "Call Trace:\n <TASK>\n ext4_file_write_iter+0x1d8/0x2f0\n"
            " vfs_write+0x2f8/0x440\n </TASK>\n"
        )
        assert (task.comm, task.state) == ("copier", "R")
        assert explain_log([task]).not_stuck == 1


SERIAL = """\
INFO: task pruner:4711 blocked for more than 122 seconds.
task:pruner          state:D stack:0     pid:4711  tgid:4711  ppid:1      flags:0x02
Call Trace:
 <TASK>
 schedule+0x46/0x70
 jbd2_log_wait_commit+0xe5/0x140 [jbd2]
 ext4_sync_file+0x1d2/0x390 [ext4]
 do_fsync+0x38/0x70
 </TASK>
INFO: task jbd2/vdb-8:733 blocked for more than 122 seconds.
task:jbd2/vdb-8      state:D stack:0     pid:733   tgid:733   ppid:2      flags:0x02
Call Trace:
 <TASK>
 schedule+0x46/0x70
 jbd2_journal_wait_updates+0x60/0xb0 [jbd2]
 jbd2_journal_commit_transaction+0x2a1/0x1a40 [jbd2]
 kjournald2+0xab/0x260 [jbd2]
 </TASK>
"""


def at_edge(columns: int, prefix: str) -> list[LoggedTask]:
    """The same log on a terminal of so many columns."""
    return tasks("\n".join((prefix + row)[:columns] for row in SERIAL.splitlines()))


PREFIX = "Oct 13 22:03:43 example kernel: [185521.096127] "


@pytest.mark.parametrize("columns", range(70, 120))
def test_lines_that_a_terminal_cuts_off(columns: int) -> None:
    """Wherever the edge is: no other tasks or pids, and no answer that is surer."""
    whole = explain_log(at_edge(1000, PREFIX))
    (link,) = whole.links.values()
    assert link.confidence == LIKELY
    found = at_edge(columns, PREFIX)
    answer = explain_log(found)
    assert len(answer.tasks) == 2
    for task, want in zip(answer.tasks, whole.tasks, strict=True):
        assert task.task.pid in (None, want.task.pid)
        assert task.guessed or task.verdict.cls == want.verdict.cls
        if names(task.task) != names(want.task):
            assert task.guessed
    assert all(
        found.confidence == POSSIBLE
        or not (found.waiter.guessed or found.holder.guessed)
        for found in answer.links.values()
    )


def test_a_name_that_is_cut_off_is_completed_where_one_fits() -> None:
    """The answer says that the frame is doubtful; what does not fit stays as it is."""
    cut, other = at_edge(70, PREFIX)
    assert names(cut).split()[1:3] == ["jbd2_log_wait_commit", "ext4_sync_file"]
    assert names(other).split()[1:3] == [
        "jbd2_journal_wait_updates",
        "jbd2_journal_commit_transaction",
    ]
    assert cuts.completed("jbd2_journal_") == "jbd2_journal_"
    assert cuts.completed("unheard_of_") == "unheard_of_"


def test_a_question_mark_that_a_mailer_left_behind() -> None:
    """The frame it doubts is on the next line, without a prefix."""
    head = (
        "kernel: task:tidy            state:D stack:0     pid:97\nkernel: Call Trace:"
    )
    (task,) = tasks(
        f"{head}\nkernel:  schedule+0x2c/0x70\nkernel:  ?\nmempool_alloc+0x5/0x20\n"
        "kernel:  down_read+0x48/0xd0\nkernel:\next4_llseek+0xfc/0x120\n"
    )
    assert names(task) == "schedule down_read ext4_llseek"
    assert len(task.guesses) == 4


def test_a_pid_that_a_mailer_put_on_the_next_line() -> None:
    (task,) = tasks(
        "task:kworker/u8:7    state:D stack:    0 pid:\n1296 ppid:     2 flags:0x08\n"
        "Call trace:\n schedule+0x2c/0x70\n wb_workfn+0x5/0x20\n"
    )
    assert (task.comm, task.pid) == ("kworker/u8:7", 1296)


def test_the_end_of_a_stack_alone_is_none() -> None:
    """An excerpt begins with it."""
    assert tasks(" ret_from_fork+0x2c/0x50\n ret_from_fork_asm+0x1a/0x30\n") == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("md7_resync", (None, "md7_resync")),
        ("kworker/u64:3+flush-8:32", (None, "kworker/u64:3+flush-8:32")),
        ("7731 tidy D", (7731, "tidy")),
        ("# # /proc/77/task/79: tidy : /usr/bin/tidy --all", (79, "tidy")),
        ("It hangs.", (None, None)),
        ("hangs:", (None, None)),
    ],
)
def test_names_that_scripts_print_before_a_stack_of_proc(
    line: str, name: tuple[int | None, str | None]
) -> None:
    (task,) = tasks(
        f"\n{line}\n[<0>] wait_barrier+0x1de/0x220\n[<0>] do_fsync+0x3/0x9\n"
    )
    assert (task.pid, task.comm) == name


@pytest.mark.parametrize(
    "line",
    [
        "7731 pts/2    D+     0:00 tidy",
        "root  7731  0.0  0.1 9 7 ? D 15:24 0:00 [tidy]",
        "nightly(7730)─┬─cat(7740)\n              └─{tidy}(7731)",
        "nightly(7730)-+-tidy(7731)---cat(7740)",
        "tidy(7731)-+-{tidy}(7732)\n           `-{tidy}(7733)",
    ],
)
def test_a_line_of_ps_or_pstree_names_its_task(line: str) -> None:
    """Wherever the stack is."""
    text = f"{line}\n\nand this:\n\n\n$ cat /proc/7731/stack\n[<0>] do_fsync+0x3/0x9\n"
    (task,) = tasks(text)
    assert (task.pid, task.comm) == (7731, "tidy")


def test_a_word_far_from_a_stack_is_no_name() -> None:
    (task,) = tasks("reshape\n\n[<0>] wait_barrier+0x1de/0x220\n")
    assert task.comm is None
    (task,) = tasks("reshape\n schedule+0x1/0x22\n wait_barrier+0x1de/0x220\n")
    assert task.comm is None


def test_a_task_is_named_by_its_other_stack() -> None:
    """A report, and later its /proc/PID/stack."""
    _, later = tasks(
        "task:tidy            state:D stack:0     pid:97\nCall Trace:\n"
        " schedule+0x2c/0x70\n jbd2_log_wait_commit+0xab/0x450\n </TASK>\n"
        "$ cat /proc/97/stack\n[<0>] ext4_sync_file+0x9/0x10\n"
    )
    assert (later.comm, later.pid) == ("tidy", 97)


def test_crash_of_arm() -> None:
    """Of 32 bits: each line has the function and where its caller goes on."""
    (task,) = read_log(
        [
            'PID: 257    TASK: ecdd0000  CPU: 0   COMMAND: "init"',
            " #0 [<c0b420ec>] (__schedule) from [<c0b423c8>]",
            " #1 [<c0b423c8>] (schedule) from [<c0b459d4>]",
            "#12 [<c0441918>] (f2fs_sync_file.part.0) from [<c0441098>]",
        ]
    )
    symbols = [frame.symbol for frame in task.frames]
    assert symbols == ["__schedule", "schedule", "f2fs_sync_file"]


ANSWERED = """\
> [root@a ~]# cat /proc/142/stack
> [<0>] mddev_suspend+0x10b/0x1e8
It waits for reads,

which wait for the reshape.

This is a dead end, as long
as there are such reads.

> [<0>] suspend_lo_store+0x72/0xbb
> [<0>] md_attr_store+0x6c/0x8d
"""


def test_the_rest_of_a_stack_of_proc_behind_an_answer() -> None:
    """A mail that answers in the midst of it; alone that would be another stack."""
    (task,) = read_log(ANSWERED.splitlines())
    assert task.pid == 142 and len(task.frames) == 3 and task.cut
    apart = ANSWERED.replace("> ", "")
    assert len(read_log(apart.splitlines())) == 2


def test_notes_behind_frames_of_crash() -> None:
    """What an author points at with an arrow is still a frame."""
    lines = (
        'PID: 455    TASK: ffff8c8085fa4000  CPU: 5   COMMAND: "kworker/u16:30"',
        "  #0 [ffffb8f3c0d8fa88] __schedule at ffffffffa529e25d",
        "  #3 [ffffb8f3c0d8fb68] __mutex_lock at ffffffffa529fdcb      <-- sleeps",
        "  #4 [ffffb8f3c0d8fbe8] btrfs_update_inode at ffffffffc0438cf8 [btrfs] <-- x",
    )
    (task,) = read_log(lines)
    assert [frame.symbol for frame in task.frames][1:] == [
        "__mutex_lock",
        "btrfs_update_inode",
    ]


def test_a_crash_frame_that_a_mailer_wrapped_before_its_address() -> None:
    (task,) = tasks(
        'PID: 930    TASK: ffffa14b5f9032c0  CPU: 1   COMMAND: "jbd2/sdx4-8"\n'
        "  #0 [ffffa14b5ff0ba20] __schedule at ffffffffafe1b959\n"
        "  #1 [ffffa14b5ff0bc80] __wait_on_buffer at ffffffffaf85068a\n"
        "  #2 [ffffa14b5ff0bc90] jbd2_journal_commit_transaction at \n"
        "ffffffffc0e543fc [jbd2]\n"
        "  #3 [ffffa14b5ff0be48] kjournald2 at ffffffffc0e5a6ad [jbd2]\n"
    )
    assert [frame.symbol for frame in task.frames] == [
        "__schedule",
        "__wait_on_buffer",
        "jbd2_journal_commit_transaction",
        "kjournald2",
    ]


def test_a_crash_stack_without_a_head_is_a_sign(tmp_path: Path) -> None:
    """In a file, where one search skips what is far from anything of a stack."""
    log = tmp_path / "mail"
    log.write_text(
        "> Their threads are all in:\n"
        "> #0 [ffffa8d15fedfb90] __schedule at ffffffffa0d93b2d\n"
        ">  #1 [ffffa8d15fedfc20] schedule at ffffffffa0d93eaa\n"
        ">  #2 [ffffa8d15fedfc38] md_do_sync at ffffffffc045758e [md_mod]\n"
    )
    (task,) = remarks.read_place(str(log), Bound()).tasks
    assert task.frames[-1].symbol == "md_do_sync"


def test_frames_of_arm_that_a_mailer_wrapped() -> None:
    """The callers are on lines of their own, between registers."""
    (task,) = tasks(
        "> [ 1103.834915] task:nfsd            state:D stack:    0 pid: 1029\n"
        "> [ 1103.834945] Backtrace:\n"
        "> [ 1103.834992] [<809f9df0>] (__schedule) from [<809fa7c8>] "
        "(schedule+0x68/0xe4)\n"
        "> [ 1103.835015]  r10:00000000 r9:86f67d4c r8:8fc134a0 r7:00000002\n"
        "> r6:00000001 r5:86dc4d80\n"
        "> [ 1103.835029]  r4:ffffe000\n"
        "> [ 1103.835056] [<809fa760>] (schedule) from [<8017bcac>]\n"
        "> (rwsem_down_write_slowpath+0x318/0x518)\n"
        "> [ 1103.835072]  r5:ffffe000 r4:8fc13490\n"
        "> [ 1103.835195] [<809fd694>] (down_write) from\n"
        "> [<7f6676b8>] (ovl_dir_release+0x34/0x70 [overlay])\n"
    )
    assert task.pid == 1029
    assert [frame.symbol for frame in task.frames] == [
        "schedule",
        "rwsem_down_write_slowpath",
        "ovl_dir_release",
    ]


def test_frames_of_powerpc_that_a_mailer_wrapped() -> None:
    """Their addresses are on lines of their own, which are not blank."""
    (task,) = tasks(
        "[ 1841.074486] rmmod           D    0 18774  17507 0x00040080\n"
        "[ 1841.074549] Call Trace:\n"
        "[ 1841.074622] [c0000001eae2b550] [c00000000001f9a0]\n"
        "__switch_to+0x2e0/0x4e0\n"
        "[ 1841.074666] [c0000001eae2b5b0] [c000000000d716b4]\n"
        "__schedule+0x2c4/0x8e0\n"
        "[ 1841.074755] [c0000001eae2b6b0] [c000000000188a44]\n"
        "async_synchronize_cookie_domain+0x174/0x360\n"
    )
    assert task.pid == 18774
    assert task.frames[-1].symbol == "async_synchronize_cookie_domain"


def test_base64_is_no_function_that_a_terminal_cut() -> None:
    """A signature behind a mail, its lines as wide as the mail."""
    (task,) = tasks(
        "[<0>] md_super_wait+0xb6/0x130\n" + "MIAGCSqGSIb3DQEHAqCAMIACAQExDzANBgl" * 2
    )
    assert [frame.symbol for frame in task.frames] == ["md_super_wait"]


def test_a_module_that_a_mailer_wrapped_behind_a_frame_of_crash() -> None:
    (task,) = tasks(
        'PID: 474    TASK: ffff8813e11f4600  CPU: 10  COMMAND: "kswapd0"\n'
        " #0 [ffff8813dedfb938] __schedule at ffffffff8173f405\n"
        " #7 [ffff8813dedfbb90] __make_buffer_clean at ffffffffa038736f \n"
        "[dm_bufio]\n"
        " #8 [ffff8813dedfbc40] shrink_slab at ffffffff811a87ce\n"
    )
    assert [frame.module for frame in task.frames] == [None, "dm_bufio", None]


def test_crash_without_addresses() -> None:
    """As authors shorten it: numbers and functions alone."""
    text = """PID: 77  COMMAND: "kworker/u8:3":
 #0 __schedule
 #1 schedule
 #2 io_schedule
 #3 __lock_page
 #4 mpage_prepare_extent_to_map
 #5 ext4_writepages
"""
    (task,) = tasks(text)
    assert (task.comm, task.pid, len(task.frames)) == ("kworker/u8:3", 77, 6)
    assert tasks("#1 first\n#2 second\n") == []


def test_names_without_offsets_behind_a_head() -> None:
    """As authors shorten it; a word elsewhere is no frame."""
    text = """INFO: task app main:77 blocked for more than 122 seconds.
task:app main state:D pid:77
  __schedule
  schedule
  ___down_common
  down()
  power_up [nvme]
  nvme_reset+0x4a/0xa0 [nvme]
  kthread

schedule
task:other state:D pid:78
 words
 schedule_timeout+0x10/0x20
 words
"""
    one, other = tasks(text)
    assert (
        names(one)
        == "__schedule schedule ___down_common down power_up nvme_reset kthread"
    )
    assert [frame.module for frame in one.frames[-3:]] == ["nvme", "nvme", None]
    assert (one.comm, one.pid, names(other)) == ("app main", 77, "schedule_timeout")
