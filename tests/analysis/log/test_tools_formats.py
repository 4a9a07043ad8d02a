# SPDX-License-Identifier: GPL-2.0-only
"""This test will read stacks as crash, drgn and faddr2line print them, and refuse what
sums over time by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from log_stacks import Shown, explained, named
from writestall.cli.main import main
from writestall.log.links import REPORTED, explain_log
from writestall.log.reading import LoggedTask, read

Capture = pytest.CaptureFixture[str]
WAIT = ("__schedule", "schedule", "io_schedule", "folio_wait_bit_common", "folio_lock")
PATH = (*WAIT, "ext4_writepages", "do_writepages", "wb_workfn", "kthread")


def tasks(text: str) -> list[LoggedTask]:
    """The stacks of a text, read as the bytes of a file."""
    return read([text.encode()]).tasks


def names(task: LoggedTask) -> list[str]:
    return [frame.symbol for frame in task.frames]


def drgn(pid: int, *functions: str) -> str:
    """What drgn prints for print(prog.stack_trace(PID))."""
    rows = [
        f"#{at:<2} {name} ({folder}:12{at}:3)"
        for at, (name, folder) in enumerate(
            (name, "./fs/ext4/inode.c" if at else "kernel/sched/core.c")
            for at, name in enumerate(functions)
        )
    ]
    return "\n".join((f">>> print(prog.stack_trace({pid}))", *rows, ""))


def test_numbered_frames_of_drgn() -> None:
    """Two tasks, one after the other."""
    one, other = tasks(drgn(41, *PATH) + drgn(42, *WAIT, "ext4_write_begin"))
    assert (one.pid, other.pid) == (41, 42)
    assert names(one) == list(PATH) and names(other)[-1] == "ext4_write_begin"
    verdicts = [row.verdict.cls for row in explain_log([one, other]).tasks]
    assert verdicts == ["page_lock", "page_lock"]


def test_a_backtrace_of_gdb_is_still_refused(tmp_path: Path, capsys: Capture) -> None:
    log = tmp_path / "pasted"
    log.write_text("#0  poll (fds=0x1, n=2) at poll.c:12\n#1  run (it=0x2) at a.c:1\n")
    assert main(["explain", "--log", str(log)]) == 2
    assert "gdb" in capsys.readouterr().err


KERNEL_GDB = """\
(gdb) bt
#0  context_switch (rq=0xffff, prev=0xff) at kernel/sched/core.c:5328
#1  __schedule (sched_mode=0) at ./kernel/sched/core.c:6693
#2  0xffffffff81e3a1b2 in schedule () at /usr/src/linux-6.8/kernel/sched/core.c:6770
#3  wait_transaction_locked (journal=0x1) at fs/jbd2/transaction.c:171
#4  start_this_handle (journal=0x1) at fs/jbd2/transaction.c:12
"""


def test_a_backtrace_of_gdb_of_a_kernel_is_read() -> None:
    (task,) = explain_log(tasks(KERNEL_GDB)).tasks
    assert task.verdict.cls == "journal_transaction"


@pytest.mark.parametrize(
    ("label", "name"),
    [("jbd2/sda1-8 350", "jbd2/sda1-8/350"), ("attempt 350", "line 2")],
)
def test_a_name_and_a_pid_that_a_loop_prints(label: str, name: str) -> None:
    text = f"{label}\n" + drgn(0, *PATH).split("\n", 1)[1]
    (task,) = explain_log(tasks(text)).tasks
    assert task.name == name


def test_functions_with_their_places() -> None:
    """scripts/faddr2line alone, without the offsets it was asked for."""
    rows = [f"{name} at kernel/sched/core.c:{at}" for at, name in enumerate(PATH, 1)]
    rows[4:4] = ["(inlined by) folio_wait_locked at include/linux/pagemap.h:1"]
    (task,) = tasks("\n".join(rows))
    assert names(task)[:6] == [*PATH[:4], "folio_wait_locked", PATH[4]]


@pytest.mark.parametrize("quote", ["", "> ", "| "])
@pytest.mark.parametrize("cut", ["COMMAND:\n", "\nCOMMAND: "])
def test_a_head_of_crash_that_a_mailer_wrapped(quote: str, cut: str) -> None:
    rows = [
        f" #{at} [ffffb{at}] {name} at ffffffff810{at}" for at, name in enumerate(PATH)
    ]
    head = f'PID: 2167  TASK: ffff889dc6a59c00  CPU: 14  {cut}"db-writer"'
    text = "\n".join(quote + row for row in "\n".join((head, *rows)).split("\n"))
    (task,) = tasks(text.replace(" at ffffffff810", " at ffffffff8100a1b"))
    assert (task.pid, task.comm) == (2167, "db-writer")


def test_other_commands_of_crash_name_no_stack() -> None:
    """`files` prints the same head; what follows a prompt is of another task."""
    text = """\
crash> files 4242
PID: 4242   TASK: ffff88001   CPU: 1   COMMAND: "rsync"
ROOT: /    CWD: /srv
 FD       FILE            DENTRY           INODE       TYPE PATH
  0 ffff88003 ffff88004 ffff88005 CHR  /dev/null

 #0 [ffffb1e40] __schedule at ffffffff8100a1b2
 #1 [ffffb1e41] schedule at ffffffff8101a1b2
 #2 [ffffb1e42] submit_bio_wait at ffffffff8102a1b2
crash> bt 77
PID: 77   TASK: ffff88002   CPU: 1   COMMAND: "tar"
 #0 [ffffb1e40] __schedule at ffffffff8100a1b2
 #1 [ffffb1e41] schedule at ffffffff8101a1b2
"""
    one, other = tasks(text)
    assert (one.pid, one.comm, other.pid, other.comm) == (None, None, 77, "tar")
    assert len(other.frames) == 2


GFS2 = "[<0>] gfs2_glock_wait+0x2/0x7 [gfs2]\n[<0>] gfs2_rename+0x1/0x8 [gfs2]\n"
PROMPTS = (
    "[root@{}  ~]# cat /proc/6414/stack",
    "root@{}:/var/log# cat /proc/6414/stack",
    "me@{}:~$ sudo cat /proc/6414/stack",
    "{}:~ # cat /proc/6414/stack",
    "{}:/var/log # cat /proc/6414/stack",
)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_prompt_names_the_host(prompt: str) -> None:
    """One pid on two hosts is two tasks."""
    text = "\n".join(
        prompt.replace("  ", " ").format(host) + "\n" + GFS2
        for host in ("alpha", "beta")
    )
    found = tasks(text)
    assert [(task.host, task.pid) for task in found] == [
        ("alpha", 6414),
        ("beta", 6414),
    ]
    assert explain_log(found).links == {}


def test_a_title_names_the_host() -> None:
    """pdsh and clush put it before each line; grep puts the file there."""
    text = "".join(
        f"{host}: {line}\n" for host in ("alpha", "beta") for line in GFS2.splitlines()
    )
    assert [task.host for task in tasks(text)] == ["alpha", "beta"]
    text = "".join(f"/proc/6414/stack:{line}\n" for line in GFS2.splitlines())
    assert [(task.host, task.pid) for task in tasks(text)] == [("", 6414)]


def test_one_prompt_is_no_other_host() -> None:
    """What dmesg printed before and behind it is of the same machine."""
    text = "[ 7.000001] INFO: task a:5 blocked for more than 122 seconds.\n"
    text += "root@alpha:~# cat /proc/6414/stack\n" + GFS2
    assert {task.host for task in tasks(text)} == {""}


def test_a_dump_of_glocks_is_no_stack() -> None:
    """fs/gfs2/glock.c gfs2_dump_glock() names the function that asked."""
    text = (
        "G:  s:EX n:2/1a2b f:lDpr t:EX d:EX/0 a:0 v:0 r:4 m:20 p:1\n"
        " H: s:EX f:W e:0 p:6414 [mv] gfs2_rename+0x1a1/0x804 [gfs2]\n"
        " H: s:SH f:aW e:0 p:6415 [ls] gfs2_getattr+0xbb/0xf0 [gfs2]\n"
    )
    assert tasks(text * 3) == []


GLOCKS = """\
G:  s:EX n:2/1a2b f:lDpr t:EX d:EX/0 a:0 v:0 r:4 m:20 p:1
 H: s:EX f:{one} e:0 p:6414 [mv] gfs2_rename+0x1a1/0x804 [gfs2]
 H: s:EX f:{other} e:0 p:6415 [cp] gfs2_createi+0xbb/0xf0 [gfs2]
"""
WAITS = Shown("mv", 6414, "schedule gfs2_glock_wait/gfs2 gfs2_rename/gfs2 vfs_rename")
HOLDS = Shown("cp", 6415, "io_schedule gfs2_log_reserve/gfs2 gfs2_trans_begin/gfs2")


@pytest.mark.parametrize("first", [True, False])
def test_a_dump_of_glocks_names_the_holder(first: bool) -> None:
    """fs/gfs2/glock.c hflags2str(): H holds, W waits; it may have released it since."""
    dump = GLOCKS.format(one="W", other="H").splitlines()
    stacks = [*WAITS.report(), *HOLDS.report()]
    answer = explained(dump + stacks if first else stacks + dump)
    assert named(answer) == {"mv": ("cp", REPORTED)}
    assert not answer.links[0].is_sure
    dump = GLOCKS.format(one="W", other="aW").splitlines()
    assert not explained(dump, stacks).links


def test_a_line_that_another_cpu_broke() -> None:
    """printk() of two CPUs on one console, without CONFIG_PRINTK_CALLER."""
    text = (
        "[    7.000001] INFO: task tar:31 blocked for mo[    7.000002] usb 1-1: new\n"
        "re than 122 seconds.\n"
        "[    7.000003] task:tar             state:D stack:0     pid:31\n"
        "[    7.000004] Call Trace:\n"
        "[    7.000005]  __schedule+0x1/0x9\n"
        "[    7.000006]  jbd2_log_wait[    7.000007] eth0: link is up\n"
        "_commit+0x1/0x9 [jbd2]\n"
        "[    7.000008]  ext4_sync_file+0x1/0x9 [ext4]\n"
    )
    (task,) = tasks(text)
    assert (task.comm, task.pid) == ("tar", 31)
    assert names(task) == ["__schedule", "jbd2_log_wait_commit", "ext4_sync_file"]


def test_addresses_that_powerpc_doubts() -> None:
    """arch/powerpc/kernel/process.c show_stack()."""
    (task,) = explained(
        "kjournald     D 0000000000000000  8704  2167      1 (L-TLB)",
        "Call Trace:",
        "[c00000003514f980] [c0000000005257d8] some_table+0x8/0x200 (unreliable)",
        "[c00000003514fb50] [c00000000000f0b4] .__switch_to+0x12c/0x150",
        "[c00000003514fbe0] [c00000000039980c] .schedule+0xcec/0xe4c",
        "[c00000003514fcf0] [c000000017da58] .journal_commit_transaction+0x190/0x1448",
        "[c00000003514fe50] [c000000000182f44] .kjournald+0xf0/0x27c",
    ).tasks
    assert task.verdict.cls == "journal_transaction"
    assert "some_table" not in names(task.task)


SUMS = {
    "offcputime": "    b'schedule'\n    b'io_schedule'\n    -                fio (12)\n"
    "        123456\n",
    "offcputime of libbpf": "    schedule\n    io_schedule\n    vfs_write\n"
    "    -     fio (12)\n        123456\n",
    "folded stacks": "fio;do_syscall_64;vfs_write;io_schedule;schedule 1234\n"
    "fio;do_syscall_64;vfs_fsync;schedule 12\n",
    "bpftrace": "Attaching 2 probes...\n@[\n    schedule+14\n    io_schedule+70\n"
    "]: 12\n",
    "perf script": "dd 41 [002] 11.000001: sched:sched_switch: prev_comm=dd\n"
    "        ffffffff81555c49 __schedule+0x119 ([kernel.kallsyms])\n"
    "        ffffffff817cd972 schedule+0x2b ([kernel.kallsyms])\n",
}


SUMS |= {
    "bpftrace with offsets": "Attaching 1 probe...\n@off[dd, 41,\n"
    "    __schedule+0x14/0x90\n    jbd2_log_wait_commit+0x3/0x9\n]: 12\n",
    "bpftrace of 2026": "Attached 2 probes\n@off[dd, 41,\n    schedule+14\n]: 12\n",
    "BCC with offsets": "Tracing off-CPU time (us) of all threads\n"
    "    __schedule+0x14/0x90\n    jbd2_log_wait_commit+0x3/0x9\n    - fio (12)\n",
    "ftrace": " dd-41 [002] d..2. 1.1: <stack trace>\n => __schedule\n => schedule\n",
    "ftrace with offsets": " dd-41 [002] d..2. 1.1: <stack trace>\n"
    " => __schedule+0x14/0x90\n => wait_transaction_locked+0x3/0x9\n",
    "perf report": "# Overhead  Command\n    50.00%  dd  [k] __schedule\n",
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_over_time_are_refused_by_name(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    """No moment, so nobody waits for anybody; what to run instead is said."""
    log = tmp_path / "pasted"
    log.write_text(SUMS[name])
    assert main(["explain", "--log", str(log)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert name.split()[0] in line and "sysrq-trigger" in line


def test_a_name_with_its_state() -> None:
    """What a person notes above each stack of /proc."""
    (task,) = tasks(f"comm stress-ng-mmap state D\n{GFS2}")
    assert (task.comm, task.state, len(task.frames)) == ("stress-ng-mmap", "D", 2)


def test_a_function_that_prose_speaks_of_begins_no_stack() -> None:
    text = f"ext4_write_begin+0x215/0x640 is:\nretry_journal:\n{GFS2}"
    (task,) = tasks(text)
    assert names(task) == ["gfs2_glock_wait", "gfs2_rename"]


def test_a_report_of_one_task_counts_once() -> None:
    """Its two heads are of one report."""
    log = read(
        [
            b"INFO: task a:5 blocked for more than 122 seconds.\n"
            b"      Not tainted 6.18.2 #1\n"
            b"task:a               state:D stack:0     pid:5\n"
        ]
    )
    assert [(task.comm, task.times) for task in log.unshown] == [("a", 1)]
