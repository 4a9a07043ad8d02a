# SPDX-License-Identifier: GPL-2.0-only
"""This test will read logs of several hosts, in reverse, and without all stacks."""

from __future__ import annotations

import json
from itertools import chain, zip_longest
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writestall.cli.main import main
from writestall.log import reading
from writestall.log.links import explain_log
from writestall.log.reading import Log, LoggedTask

Capture = pytest.CaptureFixture[str]

COMMIT = (
    "__schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit "
    "__wait_on_buffer jbd2_journal_commit_transaction kjournald2 kthread ret_from_fork"
).split()
WRITER = (
    "__schedule io_schedule bit_wait_io __wait_on_bit out_of_line_wait_on_bit "
    "do_get_write_access jbd2_journal_get_write_access ext4_reserve_inode_write "
    "ext4_dirty_inode file_update_time vfs_write ksys_write do_syscall_64"
).split()


def report(comm: str, pid: int, symbols: list[str]) -> list[str]:
    """A hung-task report's lines."""
    return [
        f"INFO: task {comm}:{pid} blocked for more than 368 seconds.",
        "      Not tainted 6.12.57 #2",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        f"task:{comm:<15} state:D stack:0     pid:{pid}   tgid:{pid}   ppid:1",
        "Call Trace:",
        " <TASK>",
        *(
            f" {name}+0x{17 * at + 5:x}/0x{300 + at:x}"
            for at, name in enumerate(symbols)
        ),
        " </TASK>",
    ]


JOURNAL = report("jbd2/sdc2-8", 733, COMMIT)
LOGGER = report("rotator", 5150, WRITER)


def read(lines: list[str]) -> Log:
    """The log in these lines."""
    return reading.read(["\n".join(lines).encode()])


def shown(tasks: list[LoggedTask]) -> list[tuple[str, str | None, list[str]]]:
    """Host, name and frames of each stack."""
    return [(it.host, it.comm, [frame.symbol for frame in it.frames]) for it in tasks]


def alternating(*logs: list[str]) -> list[str]:
    """One line of each in turn."""
    return [line for line in chain(*zip_longest(*logs)) if line is not None]


HOSTS = {
    "syslog": "Jul 14 02:00:07 {} kernel: ",
    "iso": "2026-07-14T02:00:07.123456+02:00 {} kernel: ",
    "journalctl": "Jul 14 02:00:07 {} kernel[0]: ",
    "rfc5424": "<3>1 2026-07-14T02:00:07.12Z {} kernel - - - ",
    "busybox": "Jul 14 02:00:07 {} kern.err kernel: ",
    "stamped": "Jul 14 02:00:07 {} kernel: [ 7311.420000] ",
    "pdsh": "{}: [ 7311.420000] ",
    "grep": "{}.log:[ 7311.420000] ",
}


@pytest.mark.parametrize("form", HOSTS)
def test_two_hosts_in_one_log(form: str) -> None:
    """Stacks are read per host, and no link connects them, even if one would fit."""
    north, south = HOSTS[form].format("north"), HOSTS[form].format("south")
    lines = alternating([north + it for it in LOGGER], [south + it for it in JOURNAL])
    log = read(lines)
    (first, *_), (second, *_) = sorted((it.host, it.comm) for it in log.tasks)
    assert (first.split(".")[0], second.split(".")[0]) == ("north", "south")
    assert {it[2][5] for it in shown(log.tasks)} == {COMMIT[5], WRITER[5]}
    assert all(len(it.frames) in (len(COMMIT), len(WRITER)) for it in log.tasks)
    assert explain_log(log.tasks).links == {}
    together = read([north + it for it in [*LOGGER, *JOURNAL]])
    assert len(explain_log(together.tasks).links) == 1


def test_two_hosts_in_records() -> None:
    """The host is a field beside the message."""
    lines = [
        json.dumps({"host": {"name": host}, "message": text})
        for host, text in zip(
            ["east", "west"] * 30, alternating(LOGGER, JOURNAL), strict=False
        )
    ]
    log = read(lines)
    assert sorted(it.host for it in log.tasks) == ["east", "west"]


CALLERS = ("[ 7311.42][{:>8}] ", "[{:>6}] ", "[ 7311.42] [{:>6}] ", "<6>[{}] ")


@pytest.mark.parametrize("form", [*CALLERS, "6,1207,7311420000,-,caller={};"])
def test_tasks_and_cpus_that_print_at_once(form: str) -> None:
    """CONFIG_PRINTK_CALLER, with the time and without, and as /dev/kmsg has it."""
    lines = alternating(
        [form.format("T41") + it for it in LOGGER],
        [form.format("C3") + it for it in JOURNAL],
    )
    assert sorted(it[2] for it in shown(read(lines).tasks)) == sorted((COMMIT, WRITER))


def test_newest_first(tmp_path: Path, capsys: Capture) -> None:
    """Reversed, and reported; lines keep their numbers."""
    stamps = [f"[ 7311.42{at:04}] " for at in range(60)]
    lines = [a + b for a, b in zip(stamps, [*LOGGER, *JOURNAL], strict=False)]
    forward, backward = read(lines), read(lines[::-1])
    assert not forward.newest_first and backward.newest_first
    assert shown(backward.tasks) == shown(forward.tasks)
    assert [it.line for it in backward.tasks] == [len(lines), len(JOURNAL)]
    path = tmp_path / "export"
    path.write_text("\n".join(lines[::-1]))
    assert main(["explain", str(path)]) == 0
    assert "newest first" in capsys.readouterr().out


@pytest.mark.parametrize("drop", ["TASK>", "Call Trace", "INFO", "schedule"])
def test_newest_first_by_other_signs(drop: str) -> None:
    """Each sign may be missing: in old kernels, or filtered out."""
    lines = [it for it in [*LOGGER, *JOURNAL] if drop not in it]
    forward, backward = read(lines), read(lines[::-1])
    assert backward.newest_first and not forward.newest_first
    assert shown(backward.tasks) == shown(forward.tasks)


def test_stacks_of_proc_are_not_turned_round() -> None:
    """They follow each other without a header."""
    frames = [f"[<0>] {name}+0x5/0x9" for name in ("wait_barrier", "kthread")]
    log = read([*frames * 9, "[<0>] msleep+0x5/0x9"])
    assert not log.newest_first


def test_hung_tasks_without_a_stack(tmp_path: Path, capsys: Capture) -> None:
    """They are named and counted, with a hint where stacks are; beside stacks they
    count, too."""
    heads = [
        it for at in range(3) for it in report(f"etcd{at % 2}", 61 + at % 2, COMMIT)[:3]
    ]
    path = tmp_path / "log"
    path.write_text("\n".join(f"Jul 14 02:00:07 north kernel: {it}" for it in heads))
    assert main(["explain", str(path)]) == 0
    out = capsys.readouterr().out
    assert "2 stuck tasks without a stack: etcd0/61 on north (2 times), etcd1/62" in out
    assert "dmesg" in out and "journalctl -k" in out and "/proc/sysrq-trigger" in out
    path.write_text("\n".join([*heads, *LOGGER]))
    assert main(["explain", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["pid"] for row in found["tasks"]] == [5150]
    assert [(row["pid"], row["times"]) for row in found["without_stack"]] == [
        (61, 2),
        (62, 1),
    ]


def test_a_task_with_a_stack_in_one_report_is_not_counted_as_without() -> None:
    assert read([*LOGGER, *LOGGER[:3]]).unshown == []


STACK = [f"[<0>] {name}+0x{at + 1}/0x99" for at, name in enumerate(WRITER[5:])]


@pytest.mark.parametrize(
    "before",
    [
        ["/proc/77/comm = rotator", "/proc/77/stack"],
        ["/proc/77/comm:rotator", "/proc/77/stack:"],
        ["==> /proc/77/comm <==", "rotator", "", "==> /proc/77/stack <=="],
        ["# cat /proc/77/comm", "rotator", "# cat /proc/77/stack"],
        ["# # /proc/9/task/77: rotator :", "# cat /proc/9/task/77/stack"],
        ["== 77 rotator =="],
        ["PID: 77 COMM: rotator"],
        ["pid=77 comm=rotator"],
        ["77 (rotator):"],
        ["rotator (77)"],
        ["--- rotator/77 ---"],
        ["rotator pid 77"],
    ],
)
def test_names_that_scripts_print(before: list[str]) -> None:
    """In the format of /proc, or of a shell loop."""
    tasks = read([*before, *STACK, "", "81 other", *STACK]).tasks
    assert [(it.pid, it.comm) for it in tasks] == [(77, "rotator"), (81, "other")]
    assert all(len(it.frames) == len(STACK) for it in tasks)


def test_names_that_stand_apart_from_the_stacks() -> None:
    """`grep "" /proc/*/comm` first, the stacks later."""
    names = [f"/proc/{at}/comm:task{at}" for at in range(50, 90)]
    (task,) = read([*names, *["nothing"] * 99, "/proc/77/stack", *STACK]).tasks
    assert task.comm == "task77"


def test_the_same_stack_again_and_again_is_one_row() -> None:
    """Without names they cannot be distinguished: 3,000 of them are one row with a
    count."""
    (task,) = read(["Call Trace:", *STACK, ""] * 3000).tasks
    assert task.times == 3000
    (row,) = explain_log([task]).tasks
    assert row.times == 3000


def test_many_tasks_in_one_wait_are_one_row(tmp_path: Path, capsys: Capture) -> None:
    """3,000 tasks of one program: the row has the count, and JSON has all of them."""
    path = tmp_path / "log"
    lines = [it for at in range(3000) for it in report(f"php{at}", 9000 + at, WRITER)]
    path.write_text("\n".join(lines))
    assert main(["explain", str(path)]) == 0
    rows = [it for it in capsys.readouterr().out.splitlines() if "  line " in it]
    assert len(rows) == 1 and "php0/9000" in rows[0]
    assert "and 2999 more like it" in rows[0]
    assert main(["explain", str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tasks"]) == 3000


def test_a_boot_begins_a_new_shot() -> None:
    """Tasks that hung before a restart are not linked to those after it."""
    for mark in ("Linux version 6.12.57 (gcc)", "-- Boot 5d2 --", "-- Reboot --"):
        log = read([*LOGGER, mark, *JOURNAL])
        assert len({it.shot for it in log.tasks}) == 2
        assert explain_log(log.tasks).links == {}


lines = st.lists(
    st.tuples(
        st.sampled_from(["north", "south"]), st.sampled_from([*LOGGER, *JOURNAL])
    ),
    max_size=80,
)


@given(lines)
def test_hosts_share_no_shot_and_no_link(rows: list[tuple[str, str]]) -> None:
    log = read([f"Jul 14 02:00:07 {host} kernel: {text}" for host, text in rows])
    shots = {(it.shot, it.host) for it in log.tasks}
    assert len({shot for shot, _ in shots}) == len(shots)
    for link in explain_log(log.tasks).links.values():
        assert link.waiter.task.host == link.holder.task.host
