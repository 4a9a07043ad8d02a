# SPDX-License-Identifier: GPL-2.0-only
"""test_asleep: calls that do not end are found by files as /proc has them."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from watcher.tasks_asleep import Chosen, Seen, TasksAsleep
from writestall.events.contract import Write
from writestall.watch.ring import S

WRITE = "1 0x3 0x7f00 0x258 0x0 0x0 0x0 0x7ffc 0x7f01"
STALL_NS = 50_000_000
FAULT = "-1 0x7ffc 0x7f01"


def _task(
    root: Path,
    pid: int,
    comm: str,
    syscall: str,
    *,
    flags: int = 0,
    state: str = "D",
    sleeps: int = 1,
) -> None:
    """A process of one thread, as the kernel shows it."""
    fields = [state, "1", "0", "0", "0", "0", str(flags), *"0" * 10, "1", "0", "777"]
    line = f"{pid} ({comm}) {' '.join(fields)}\n"
    folder = root / f"proc/{pid}/task/{pid}"
    folder.mkdir(parents=True, exist_ok=True)
    (root / f"proc/{pid}/stat").write_text(line)
    for name, text in {
        "stat": line,
        "syscall": f"{syscall}\n",
        "stack": "[<0>] folio_wait_bit_common+0x1/0x2\n[<0>] handle_mm_fault+0x1/0x2\n",
        "status": f"Name:\tapp\nvoluntary_ctxt_switches:\t{sleeps}\n"
        "nonvoluntary_ctxt_switches:\t9\n",
        "wchan": "folio_wait_bit_common",
        "cgroup": "0::/system.slice/app.service\n",
    }.items():
        (folder / name).write_text(text)
    (root / f"proc/{pid}/fd").mkdir(exist_ok=True)
    file = root / f"proc/{pid}/fd/3"
    file.unlink(missing_ok=True)
    file.symlink_to("/srv/lab/gc.log")


@pytest.fixture
def looking(tmp_path: Path) -> TasksAsleep:
    _task(tmp_path, 10, "app", WRITE)
    _task(tmp_path, 11, "jbd2/vda-8", "0", flags=0x200000)
    return TasksAsleep(
        lambda seen: None, lambda pid, comm, file: True, STALL_NS, tmp_path
    )


def _shown(looking: TasksAsleep, seconds: list[float]) -> list[float]:
    return [at for at in seconds if looking.look(int(at * S)).shown]


def test_a_call_is_shown_after_two_seconds_and_while_it_doubles(
    looking: TasksAsleep,
) -> None:
    assert _shown(looking, [at / 2 for at in range(80)]) == [2, 4, 8, 16, 32]


def test_it_is_reported_with_call_file_stack_and_cgroup(looking: TasksAsleep) -> None:
    looking.look(0)
    seen = looking.look(3 * S)
    assert (seen.open, seen.longest_ns, seen.oldest_ns) == (1, 3 * S, 0)
    first, journal = seen.tasks
    assert (first.tid, first.call, first.path) == (10, "write", "lab/gc.log")
    assert first.stack[0].startswith("[<0>] folio_wait_bit_common")
    assert (first.cgroup, first.since_ns) == ("/system.slice/app.service", 0)
    assert (journal.comm, journal.call) == ("jbd2/vda-8", None)


def test_another_call_of_the_task_begins_anew(
    looking: TasksAsleep, tmp_path: Path
) -> None:
    looking.look(0)
    _task(tmp_path, 10, "app", WRITE.replace("0x258", "0x259"))
    assert looking.look(3 * S).open == 0
    assert looking.look(5 * S).shown == (10,)


def _fsync(tid: int, end_ns: int) -> Write:
    """The event of a call of 1.5 s."""
    dur_ns = 3 * S // 2
    return Write(t_ns=end_ns - dur_ns, tid=tid, dur_ns=dur_ns)


def test_one_call_after_another_is_no_call_that_does_not_end(
    looking: TasksAsleep, tmp_path: Path
) -> None:
    """A loop of fsync(2) of 1.5 s, each with two sleeps: /proc shows the same."""
    for half_s in range(72):
        _task(tmp_path, 10, "app", "74 0x3 0x0", sleeps=half_s)
        if half_s and half_s % 3 == 0:
            looking.heard(_fsync(10, half_s * S // 2))
        assert looking.look(half_s * S // 2).open == 0, half_s


def test_calls_too_short_for_an_event_are_no_call_that_does_not_end(
    looking: TasksAsleep, tmp_path: Path
) -> None:
    for half_s in range(72):
        _task(tmp_path, 10, "app", "74 0x3 0x0", sleeps=10 * half_s)
        assert looking.look(half_s * S // 2).open == 0


def test_a_call_that_sleeps_often_is_as_old_as_it_is_at_least(
    looking: TasksAsleep, tmp_path: Path
) -> None:
    """Ten sleeps a second: of each second half may be that of short calls."""
    for half_s in range(9):
        _task(tmp_path, 10, "app", "74 0x3 0x0", sleeps=5 * half_s)
        seen = looking.look(half_s * S // 2)
    assert (seen.open, seen.longest_ns) == (1, 2 * S)


def test_the_event_of_another_task_ends_no_call(looking: TasksAsleep) -> None:
    looking.look(0)
    looking.heard(_fsync(12, 2 * S))
    assert looking.look(3 * S).longest_ns == 3 * S


def test_between_two_sleeps_of_a_call_it_may_be_met_awake(
    looking: TasksAsleep, tmp_path: Path
) -> None:
    looking.look(0)
    _task(tmp_path, 10, "app", "running", state="R")
    looking.look(1 * S)
    _task(tmp_path, 10, "app", WRITE)
    assert looking.look(2 * S).shown == (10,)
    _task(tmp_path, 10, "app", "running", state="R")
    looking.look(3 * S)
    looking.look(4 * S)
    _task(tmp_path, 10, "app", WRITE)
    assert looking.look(5 * S).open == 0


@pytest.mark.parametrize(
    ("syscall", "call"), [(FAULT, "page_fault"), ("74 0x3 0x0", "fsync")]
)
def test_other_calls_have_their_names(
    looking: TasksAsleep, tmp_path: Path, syscall: str, call: str
) -> None:
    _task(tmp_path, 10, "app", syscall)
    looking.look(0)
    assert looking.look(2 * S).tasks[0].call == call


@pytest.mark.parametrize("syscall", ["202 0x3 0x0", "running", "", "x y"])
def test_calls_that_are_not_listed_are_left_out(
    looking: TasksAsleep, tmp_path: Path, syscall: str
) -> None:
    """futex(2) is in no list, and what cannot be read is none."""
    _task(tmp_path, 10, "app", syscall)
    looking.look(0)
    assert looking.look(2 * S).open == 0


def test_names_with_brackets_are_read(looking: TasksAsleep, tmp_path: Path) -> None:
    _task(tmp_path, 10, "a) D (b", WRITE)
    looking.look(0)
    assert looking.look(2 * S).tasks[0].comm == "a) D (b"


def test_only_those_that_were_chosen_are_shown(tmp_path: Path) -> None:
    _task(tmp_path, 10, "app", WRITE)
    for chosen, count in (
        (Chosen(comm="app"), 1),
        (Chosen(comm="other"), 0),
        (Chosen(path="/srv/lab"), 1),
        (Chosen(path="/srv/la"), 0),
        (Chosen(pid=1 << 22), 0),
    ):
        one = TasksAsleep(lambda seen: None, chosen, STALL_NS, tmp_path)
        one.look(0)
        assert one.look(2 * S).open == count, chosen


def test_the_thread_hands_over_what_it_finds(tmp_path: Path) -> None:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "proc/pressure/io").write_text("some avg10=1.00 avg60=0 total=1\n")
    found: queue.Queue[Seen] = queue.Queue()
    one = TasksAsleep(found.put, lambda *_: True, STALL_NS, tmp_path)
    one.start()
    assert found.get(timeout=60).open == 0
    one.end()
    one.join(60)
    assert not one.is_alive()
