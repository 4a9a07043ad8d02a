# SPDX-License-Identifier: GPL-2.0-only
"""This test will parse kernel logs in all common formats, and text that is no log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from writestall.cli.main import main
from writestall.log import reading
from writestall.log.holders.sections import takers
from writestall.log.links import LIKELY, REPORTED, explain_log
from writestall.log.reading import LoggedTask, read_log

Capture = pytest.CaptureFixture[str]

WRITER = """\
INFO: task logger:321 blocked for more than 120 seconds.
      Tainted: G           OE      6.12.107 #1
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
task:logger          state:D stack:0     pid:321   tgid:321   ppid:1      flags:0x0
Call Trace:
 <TASK>
 __schedule+0x505/0xc00
 ? bit_wait+0x10/0x10
 io_schedule+0x46/0x70
 out_of_line_wait_on_bit+0x94/0xc0
 do_get_write_access.isra.0+0x241/0x390 [jbd2]
 __ext4_journal_get_write_access+0x42/0x160 [ext4]
 ext4_reserve_inode_write+0x60/0xc0 [ext4]
 ext4_dirty_inode+0x5b/0x80 [ext4]
 file_modified+0x8f/0x90
 vfs_write+0x28d/0x450
 </TASK>
"""
COMMIT = """\
task:jbd2/vdb-8      state:D stack:0     pid:253   tgid:253   ppid:2      flags:0x0
Call Trace:
 <TASK>
 __schedule+0x505/0xc00
 io_schedule+0x46/0x70
 bit_wait_io+0x11/0x70
 __wait_on_buffer+0x30/0x30
 jbd2_journal_commit_transaction+0x10fe/0x1a00 [jbd2]
 kjournald2+0xc0/0x280 [jbd2]
 </TASK>
"""


def one(text: str) -> LoggedTask:
    """The only stack of a text."""
    (task,) = read_log(text.splitlines())
    return task


def dressed(text: str, prefix: str) -> str:
    """Every line of a text with a prefix."""
    return "\n".join(prefix + line for line in text.splitlines())


PREFIXES = [
    "",
    "[27157.363315] ",
    "<4>[  322.844058] ",
    "[ 3687.522129][   T55] ",
    "[Mon Sep 27 15:41:22 2021] ",
    "Nov 23 15:15:18 host kernel: [ 3687.522129] ",
    "2024-05-01T10:00:00.123456+00:00 host kernel: ",
    "kern  :info  : [  12.345678] ",
    "> ",
    "\t",
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes(prefix: str) -> None:
    """Of syslog, dmesg, journald and mail."""
    task = one(dressed(WRITER, prefix))
    assert (task.comm, task.pid, task.state) == ("logger", 321, "D")
    symbols = [frame.symbol for frame in task.frames]
    assert symbols[0] == "__schedule" and symbols[-1] == "vfs_write"
    assert "do_get_write_access" in symbols and "bit_wait" not in symbols


OLD_HEADS = [
    "logger          D ffff8803f0901860     0   321      1 0x00000000",
    "logger          D 0000000000000001     0   321      1 0x00000004",
    "logger          D eb35fe18     0   321      1 0x00000000",
    "logger          D    0   321      1 0x00000000",
]
OLD_STACK = """
 ffff88006355b710 0000000000000046 ffff88006355b6b0 ffffffff00000000
Call Trace:
 [<ffffffff8106e88b>] ? autoremove_wake_function+0x3d/0x3d
 [<ffffffff811c82b8>] do_get_write_access+0x1c6/0x38d [jbd2]
 [<ffffffff811c8588>] jbd2_journal_get_write_access+0x2b/0x42 [jbd2]
 [<ffffffff8118ea4f>] sys_write+0x54/0x2d0
"""


@pytest.mark.parametrize("head", OLD_HEADS)
def test_heads_before_5_11(head: str) -> None:
    """State and pid in columns, with or without an address; raw words of stack."""
    task = one(head + OLD_STACK)
    assert (task.comm, task.pid, task.state) == ("logger", 321, "D")
    assert task.frames[0].symbol == "do_get_write_access"


def test_proc_stacks() -> None:
    """Output of cat, head and grep of /proc/PID/stack: each file is a task."""
    text = (
        "# cat /proc/253/stack\n"
        "[<0>] jbd2_journal_commit_transaction+0x10fe/0x1a00 [jbd2]\n"
        "[<0>] kjournald2+0xc0/0x280 [jbd2]\n"
        "==> /proc/12/stack <==\n"
        "[<0>] balance_dirty_pages+0x649/0x2500\n"
        "[<ffffffffffffffff>] 0xffffffffffffffff\n"
        "/proc/13/stack:[<0>] rq_qos_wait+0x1/0x2\n"
        "/proc/13/stack:[<0>] wbt_wait+0x1/0x2\n"
        "/proc/14/task/15/stack:[<0>] submit_bio_wait+0x1/0x2\n"
    )
    tasks = list(read_log(text.splitlines()))
    assert [(task.pid, len(task.frames)) for task in tasks] == [
        (253, 2),
        (12, 1),
        (13, 2),
        (15, 1),
    ]


def test_lines_wrapped_by_a_mailer() -> None:
    """Headers, frames and module names broken in two."""
    text = WRITER.replace(" tgid:321", "\ntgid:321").replace(" [jbd2]", "\n[jbd2]")
    task = one(text.replace("than 120 sec", "than\n120 sec"))
    assert (task.comm, task.pid) == ("logger", 321)
    assert "do_get_write_access" in [frame.symbol for frame in task.frames]


def test_compiler_suffixes_are_taken_off() -> None:
    """Clones of a function count as that function."""
    lines = [
        " ext4_map_blocks.part.12.isra.3+0x1a/0x30 [ext4]",
        " shrink_node.cold+0x1/0x2",
        " submit_bio_noacct.constprop.0+0x1/0x2",
        " f.llvm.1234567890+0x1/0x2",
    ]
    symbols = [frame.symbol for frame in one("\n".join(lines)).frames]
    assert symbols == ["ext4_map_blocks", "shrink_node", "submit_bio_noacct", "f"]


def test_lines_that_are_no_frames() -> None:
    """Registers and held locks name functions that nobody sleeps in."""
    text = COMMIT + (
        "RIP: 0033:0x7f0123456789\n"
        "RIP: 0010:native_halt+0xe/0x10\n"
        "\n"
        "Showing all locks held in the system:\n"
        "1 lock held by khungtaskd/35:\n"
        " #0: ffffffff82b51e20 (rcu){....}, at: debug_show_all_locks+0x15/0x183\n"
    )
    assert len(one(text).frames) == 6


def test_the_chain_of_a_report() -> None:
    """The writer waits for the buffer the commit writes, the commit for the disk."""
    answer = explain_log(read_log((WRITER + "\n" + COMMIT).splitlines()))
    writer, commit = answer.tasks
    assert (writer.verdict.cls, writer.role) == ("journal_buffer", "writer")
    assert (commit.verdict.cls, commit.role) == ("device_io", "journal")
    assert answer.links[0].holder is commit and answer.links[0].confidence == LIKELY
    assert answer.path(0) == [0, 1]


def test_of_the_journals_of_two_disks_none_is_given() -> None:
    """Either may be the one."""
    other = COMMIT.replace("253", "254").replace("vdb", "vdc")
    answer = explain_log(read_log("\n".join((WRITER, COMMIT, other)).splitlines()))
    assert 0 not in answer.links


def test_the_kernel_may_name_the_owner() -> None:
    """hung_task.c, since 6.16, prints a mutex's owner: a fact, not an inference."""
    lock = WRITER.replace("do_get_write_access.isra.0", "mutex_lock").replace(
        "io_schedule", "schedule"
    )
    report = "INFO: task logger:321 is blocked on a mutex likely owned by task x:253.\n"
    answer = explain_log(read_log((lock + report + COMMIT).splitlines()))
    assert answer.links[0].confidence == REPORTED
    assert answer.links[0].holder.task.pid == 253


def test_an_idle_journal_holds_nothing() -> None:
    """kjournald2 asleep in its own loop does not end a chain."""
    idle = "cat /proc/253/stack\n[<0>] kjournald2+0xc0/0x280 [jbd2]\n"
    answer = explain_log(read_log((WRITER + "\n" + idle).splitlines()))
    assert len(answer.tasks) == 1 and answer.links == {} and answer.not_stuck == 1


def test_a_commit_that_waits_for_handles_writes_no_buffer() -> None:
    """The writer in do_get_write_access() has the handle; the commit waits for it."""
    waits = COMMIT.replace(" bit_wait_io+0x11/0x70\n __wait_on_buffer+0x30/0x30\n", "")
    waits = waits.replace(" io_schedule+0x46/0x70\n", " schedule+0x46/0x70\n")
    answer = explain_log(read_log((WRITER + "\n" + waits).splitlines()))
    assert answer.tasks[1].verdict.cls == "journal_transaction"
    assert 0 not in answer.links
    assert answer.links[1].holder is answer.tasks[0]


def test_tasks_in_other_states_are_left_out() -> None:
    """`sysrq t` shows all tasks; those that are not blocked are counted."""
    asleep = COMMIT.replace("state:D", "state:S")
    answer = explain_log(read_log((WRITER + "\n" + asleep).splitlines()))
    assert len(answer.tasks) == 1 and answer.not_stuck == 1


def test_a_task_reported_again_counts_once() -> None:
    """Reported every 120 s: one task, seen twice."""
    answer = explain_log(read_log((WRITER + "\n" + WRITER).splitlines()))
    (task,) = answer.tasks
    assert task.times == 2


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    """--log FILE: the sentence first; --json: the table."""
    log = tmp_path / "pasted"
    log.write_text(WRITER + "\n" + COMMIT)
    assert main(["explain", "--log", str(log)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "2 of them come down to jbd2/vdb-8/253 (journal), which waits" in first
    assert main(["explain", "--log", str(log), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tasks"]
    assert [row["waits_for"] for row in rows] == [1, None]


@pytest.mark.parametrize("content", [b"", b"all is well\n", b"\xff\xfe\x00" * 500])
def test_no_stack_is_said(tmp_path: Path, capsys: Capture, content: bytes) -> None:
    """One line names the file and what to paste."""
    log = tmp_path / "pasted"
    log.write_bytes(content)
    assert main(["explain", "--log", str(log)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no stack of a stuck task found" in line


def test_a_terminal_of_another_encoding(tmp_path: Path) -> None:
    """Characters that it cannot show are escaped."""
    log = tmp_path / "pasted"
    log.write_text(WRITER.replace("logger", "caf\u00e9"))
    done = subprocess.run(
        [sys.executable, "-m", "writestall", "explain", "--log", str(log)],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"caf\\xe9/321" in done.stdout


def test_no_such_log_and_both(tmp_path: Path, capsys: Capture) -> None:
    """A missing file is named; giving both a run and a log is an error."""
    assert main(["explain", "--log", str(tmp_path / "gone")]) == 2
    assert "gone: No such file" in capsys.readouterr().err
    assert main(["explain"]) == 2
    assert main(["explain", str(tmp_path), "--log", "-"]) == 2


words = st.sampled_from(
    (WRITER + COMMIT + OLD_STACK + "\n".join(OLD_HEADS))
    .replace("\n", " \n ")
    .split(" ")
)
texts = st.one_of(
    st.text(max_size=2000),
    st.lists(words, max_size=120).map(" ".join),
    st.lists(st.sampled_from((WRITER + COMMIT).splitlines()), max_size=60).map(
        "\n".join
    ),
)


@settings(max_examples=300)
@given(texts)
def test_no_text_crashes_the_reader_or_makes_up_a_chain(text: str) -> None:
    """Links connect existing tasks, and have a class, or a lock, and a reason."""
    answer = explain_log(read_log(text.splitlines()))
    symbols = {frame.symbol for t in answer.tasks for frame in t.task.guesses}
    assert all(symbol.split(".")[0] in text for symbol in symbols)
    for at, link in answer.links.items():
        assert link.waiter is answer.tasks[at]
        assert any(link.holder is task for task in answer.tasks)
        assert link.holder is not link.waiter
        is_known = link.waiter.verdict.rule is not None or takers(link.waiter)
        assert is_known or link.confidence == REPORTED
        assert len(answer.path(at)) <= len(answer.tasks) + 1


@settings(max_examples=50)
@given(st.text(alphabet=st.characters(exclude_characters="+:"), max_size=3000))
def test_text_without_frames_has_no_tasks(text: str) -> None:
    """No offset, no file and line: prose is never read as a stack."""
    tasks = explain_log(read_log(text.splitlines())).tasks
    assert all(" at " in text for _ in tasks)


def cpu_s(line: str, lines: int) -> float:
    """Least CPU time of three readings of a log that ends in WRITER, which is found."""
    log, took_s = [*[line] * lines, *WRITER.splitlines()], []
    for _ in range(3):
        begun_s = time.process_time()
        *_, task = read_log(log)
        took_s.append(time.process_time() - begun_s)
        assert (task.comm, task.pid) == ("logger", 321)
    return min(took_s)


LONG = pytest.mark.parametrize(
    ("head", "repeated", "tail"),
    [
        ("", "a", ""),
        ("", "[", ""),
        ("", "x+0x1 ", ""),
        ("", " D ", ""),
        ("", "INFO: task ", ""),
        ("task:", " ", "state:D"),
        ("", "kernel:", ""),
        ("", "? ", ""),
        ("", "0x", " at "),
    ],
)


@LONG
def test_time_grows_with_a_lines_length_and_not_with_its_square(
    head: str, repeated: str, tail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight times the length takes about eight times as long; quadratic time would be
    64."""
    monkeypatch.setattr(reading, "MAX_LINE_CHARS", 1 << 20)
    times = 4096 // len(repeated)
    short_s = cpu_s(head + repeated * times + tail, 4)
    assert cpu_s(head + repeated * times * 8 + tail, 4) <= 24 * short_s


@LONG
def test_what_is_behind_the_longest_line_costs_nothing(
    head: str, repeated: str, tail: str
) -> None:
    times = reading.MAX_LINE_CHARS // len(repeated)
    cut_s = cpu_s(head + repeated * times + tail, 8)
    assert cpu_s(head + repeated * times * 250 + tail, 8) <= 4 * cut_s
