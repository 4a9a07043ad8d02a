# SPDX-License-Identifier: GPL-2.0-only
"""This test will follow requests through the threads that they waited for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import build
from build import MS
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
PID = 300
REQUEST, COMMITTER, OTHER = (301, "request"), (302, "committer"), (303, "other")
CONDITION, INTERPRETER = "0x7f0000001000", "0xbac8e8"
DISK = (0, "swapper/0")


class Threads(build.Events):
    """The events of threads of one process whose sleeps are all recorded."""

    def waits(
        self,
        who: tuple[int, str],
        at_ms: float,
        until_ms: float,
        stack: str,
        waker: tuple[int, str],
        waker_stack: str = "futex_wakes",
        *,
        ctx: str = "task",
        lock_at: str | None = None,
        lock_in: str | None = None,
        user: tuple[str, ...] = (),
    ) -> None:
        """An interruptible sleep."""
        lock = {"lock": "futex", "lock_at": lock_at} if lock_at else {}
        lock |= {"lock_in": lock_in} if lock_in else {}
        more: dict[str, Any] = {"state": "S", "pid": PID, "ustack": user, **lock}
        dur_ms = until_ms - at_ms
        self.block(
            who[0], at_ms, dur_ms, stack, waker, waker_stack,
            comm=who[1], ctx=ctx, **more,
        )  # fmt: skip

    def times_out(
        self,
        who: tuple[int, str],
        at_ms: float,
        until_ms: float,
        stack: str,
        **more: Any,
    ) -> None:
        """An interruptible sleep that a timer ends."""
        self.waits(who, at_ms, until_ms, stack, DISK, "timer", ctx="hardirq", **more)

    def syncs(self, who: tuple[int, str], at_ms: float, until_ms: float) -> None:
        """An fsync(2) that waits for the disk all the time."""
        dur_ms = until_ms - at_ms
        self.block(
            who[0], at_ms, dur_ms, "own_io", DISK, "completion",
            comm=who[1], ctx="hardirq", pid=PID,
        )  # fmt: skip
        self.write(
            who[0], at_ms, dur_ms, dur_ms,
            comm=who[1], pid=PID, call="fsync", path="lab/wal.log",
        )  # fmt: skip


def explained(
    tmp_path: Path,
    events: Threads,
    at_ms: float,
    dur_ms: float,
    capsys: Capture,
    **more: bool,
) -> tuple[dict[str, float], str]:
    """The parts of a request of REQUEST in ms, those that are not 0; what is said."""
    run = build.run_dir(tmp_path / "run", events.end())
    folder = run / "application/app"
    folder.mkdir(parents=True)
    t_ns, dur_ns = build.START_NS + int(at_ms * MS), int(dur_ms * MS)
    row = {"t_ns": t_ns, "dur_ns": dur_ns, "tid": REQUEST[0], "what": "PUT"} | more
    (folder / "requests.jsonl").write_text(json.dumps(row) + "\n")
    assert main(["explain", str(run)]) == 0
    found = json.loads((run / "summary.json").read_text())["complaints"]
    names = ("own", "others", "outside", "meanwhile", "unknown")
    assert sum(found[f"{name}_ns"] for name in names) == found["sum_ns"] == dur_ns
    parts = {name: found[f"{name}_ns"] / MS for name in names if found[f"{name}_ns"]}
    return parts, capsys.readouterr().out


def test_it_is_followed_to_the_call_of_who_ended_the_wait(
    tmp_path: Path, capsys: Capture
) -> None:
    """Group commit: one thread syncs for all, and wakes them."""
    events = Threads()
    events.syncs(COMMITTER, 110, 990)
    events.waits(REQUEST, 105, 995, "futex", COMMITTER, lock_at=CONDITION)
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == 880
    assert "waiting for other tasks, most in fsync(2) of lab/wal.log" in said
    assert "woken by committer/302" in said
    assert "call  fsync(2) lab/wal.log" in said


def test_what_a_program_waits_in_is_named(tmp_path: Path, capsys: Capture) -> None:
    """Its own function, and neither the C library's nor those without a name."""
    events = Threads()
    user = (
        "__futex_abstimed_wait_common+0xd0 [libc.so.6]", "0x7f00deadbeef",
        "commit+0x1a [db]", "db+0x2fcc3 [db]", "on_put+0x9 [db]", "main+0x2 [db]",
    )  # fmt: skip
    events.waits(REQUEST, 105, 995, "futex", COMMITTER, lock_at=CONDITION, user=user)
    events.syncs(COMMITTER, 110, 990)
    _, said = explained(tmp_path, events, 100, 900, capsys)
    assert "user_lock  commit > futex_wait_queue  " in said


def test_a_lock_that_is_a_variable_is_named(tmp_path: Path, capsys: Capture) -> None:
    events = Threads()
    lock: dict[str, Any] = {"lock_at": CONDITION, "lock_in": "log_lock+0x4 [db]"}
    events.waits(REQUEST, 105, 995, "futex", COMMITTER, **lock)
    events.syncs(COMMITTER, 110, 990)
    _, said = explained(tmp_path, events, 100, 900, capsys)
    assert "user_lock  log_lock  " in said


def test_each_wait_for_the_lock_of_python_is_one(
    tmp_path: Path, capsys: Capture
) -> None:
    """A thread gives it up and waits for it again; who ends the wait had it. Where its
    time ran out, who had it is not known."""
    events = Threads()
    variable = "_PyRuntime+0x8 [python3.13]"
    lock: dict[str, Any] = {"lock_at": INTERPRETER, "lock_in": variable}
    events.syncs(COMMITTER, 100, 499)
    events.waits(REQUEST, 105, 500, "futex", COMMITTER, **lock)
    events.waits(COMMITTER, 501, 899, "futex", OTHER, **lock)
    events.times_out(OTHER, 50, 500, "futex", **lock)
    events.waits(REQUEST, 600, 898, "futex", OTHER, **lock)
    events.times_out(REQUEST, 900, 980, "futex", **lock)
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == pytest.approx(394, abs=2)
    assert parts["unknown"] == pytest.approx(80, abs=2)
    assert "user_lock  the GIL of CPython" in said


def test_a_bystander_is_not_blamed(tmp_path: Path, capsys: Capture) -> None:
    """A message of a process that only slept; another thread syncs meanwhile."""
    events = Threads()
    events.syncs(COMMITTER, 100, 1000)
    events.times_out(OTHER, 100, 990, "nanosleep")
    events.waits(REQUEST, 105, 995, "recv", OTHER, "sends")
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert set(parts) == {"outside"}
    assert "100.0 % in no call of a file system" in said


def test_who_ends_the_last_of_several_waits_counts(
    tmp_path: Path, capsys: Capture
) -> None:
    """All are woken at a new request, and wait again; so is the interpreter's lock."""
    events = Threads()
    events.syncs(COMMITTER, 110, 990)
    events.times_out(OTHER, 100, 295, "nanosleep")
    events.waits((304, "third"), 105, 300, "futex", OTHER, lock_at=CONDITION)
    events.waits(REQUEST, 105, 300, "futex", OTHER, lock_at=CONDITION)
    events.times_out(REQUEST, 301, 306, "futex", lock_at=INTERPRETER)
    events.waits(REQUEST, 307, 995, "futex", COMMITTER, lock_at=CONDITION)
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] >= 860
    assert parts.get("outside", 0) < 25


def test_two_locks_have_two_holders(tmp_path: Path, capsys: Capture) -> None:
    """A lock of a sleeper, then one of a task that syncs."""
    events = Threads()
    events.times_out(OTHER, 90, 299, "nanosleep")
    events.waits(REQUEST, 100, 300, "futex", OTHER, lock_at="0x7f0000002000")
    events.syncs(COMMITTER, 300, 990)
    events.waits(REQUEST, 301, 995, "futex", COMMITTER, lock_at=CONDITION)
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == pytest.approx(690, abs=2)
    assert parts["outside"] == pytest.approx(210, abs=2)


def test_who_else_notifies_a_condition_is_not_blamed(
    tmp_path: Path, capsys: Capture
) -> None:
    """A thread syncs and notifies, which does not help; at last a sleeper does."""
    events = Threads()
    events.syncs(COMMITTER, 50, 499)
    events.syncs(COMMITTER, 502, 899)
    events.times_out(OTHER, 90, 990, "nanosleep")
    events.waits(REQUEST, 105, 500, "futex", COMMITTER, lock_at=CONDITION)
    events.waits(REQUEST, 501, 900, "futex", COMMITTER, lock_at=CONDITION)
    events.waits(REQUEST, 901, 995, "futex", OTHER, lock_at=CONDITION)
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert set(parts) == {"outside", "unknown"}
    assert parts["unknown"] == pytest.approx(395 + 399, abs=2)
    assert "it waited for the same again" in said


def test_who_takes_a_lock_first_makes_others_wait_again(
    tmp_path: Path, capsys: Capture
) -> None:
    """Both that had it synced: the one that released it, and one that took it before
    the one that was woken ran."""
    events = Threads()
    events.syncs(COMMITTER, 50, 499)
    events.waits(REQUEST, 105, 500, "futex", COMMITTER, lock_at=CONDITION)
    events.syncs(OTHER, 502, 994)
    events.waits(REQUEST, 501, 995, "futex", OTHER, lock_at=CONDITION)
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == pytest.approx(394 + 492, abs=2)


def test_an_event_loop_is_woken_for_other_work_too(
    tmp_path: Path, capsys: Capture
) -> None:
    """A thread syncs for another request of the loop, then a sleeper sends a message:
    that ends this request."""
    events = Threads()
    events.syncs(COMMITTER, 50, 499)
    events.times_out(OTHER, 90, 990, "nanosleep")
    events.waits(REQUEST, 105, 500, "epoll", COMMITTER, "sends")
    events.waits(REQUEST, 501, 995, "epoll", OTHER, "sends")
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert set(parts) == {"outside", "unknown"}
    assert parts["unknown"] == pytest.approx(395, abs=2)
    assert "one of several waits of an event loop" in said


def test_all_waits_of_a_thread_that_serves_one_request_are_for_it(
    tmp_path: Path, capsys: Capture
) -> None:
    """A backend of PostgreSQL waits for two locks, one after the other."""
    events = Threads()
    events.syncs(COMMITTER, 50, 499)
    events.syncs(OTHER, 110, 990)
    events.waits(REQUEST, 105, 500, "epoll", COMMITTER, "sends")
    events.waits(REQUEST, 501, 995, "epoll", OTHER, "sends")
    parts, _ = explained(tmp_path, events, 100, 900, capsys, alone=True)
    assert parts["others"] >= 880


def test_what_an_event_loop_did_long_before_the_end_is_unknown(
    tmp_path: Path, capsys: Capture
) -> None:
    """It may have had an event after that without a sleep."""
    events = Threads()
    events.syncs(COMMITTER, 50, 499)
    events.waits(REQUEST, 105, 500, "epoll", COMMITTER, "sends")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert set(parts) == {"outside", "unknown"}


def test_the_last_wake_up_of_an_event_loop_counts(
    tmp_path: Path, capsys: Capture
) -> None:
    events = Threads()
    events.syncs(COMMITTER, 110, 990)
    events.waits(REQUEST, 105, 995, "epoll", COMMITTER, "sends")
    events.times_out(REQUEST, 1010, 1500, "epoll")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == 880


def test_a_loop_whose_time_ran_out_waited_for_the_same(
    tmp_path: Path, capsys: Capture
) -> None:
    """PostgreSQL looks for deadlocks after a second, and waits on."""
    events = Threads()
    events.syncs(COMMITTER, 110, 990)
    events.times_out(REQUEST, 105, 600, "epoll")
    events.waits(REQUEST, 601, 995, "epoll", COMMITTER, "sends")
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == pytest.approx(880, abs=2)
    assert "(inferred)" in said


def test_a_loop_that_worked_when_its_time_had_run_out_is_unknown(
    tmp_path: Path, capsys: Capture
) -> None:
    events = Threads()
    events.syncs(COMMITTER, 110, 990)
    events.times_out(REQUEST, 105, 400, "epoll")
    events.waits(REQUEST, 700, 995, "epoll", COMMITTER, "sends")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["unknown"] == pytest.approx(295, abs=2)


@pytest.mark.parametrize("stack", ["futex", "recv"])
def test_a_wait_whose_time_ran_out_is_unknown(
    stack: str, tmp_path: Path, capsys: Capture
) -> None:
    """Whoever should have ended it may be in a call."""
    events = Threads()
    events.syncs(COMMITTER, 50, 2000)
    events.times_out(REQUEST, 100, 1000, stack, lock_at=CONDITION)
    parts, said = explained(tmp_path, events, 100, 900, capsys)
    assert parts == {"unknown": 900}
    assert "its time ran out" in said


def test_what_a_task_polls_for_is_unknown(tmp_path: Path, capsys: Capture) -> None:
    events = Threads()
    events.syncs(COMMITTER, 100, 990)
    for at_ms in range(100, 1000, 10):
        events.times_out(REQUEST, at_ms, at_ms + 9.5, "nanosleep")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["unknown"] >= 800
    assert parts.get("outside", 0) < 50


def test_a_call_of_its_own_stays_its_own(tmp_path: Path, capsys: Capture) -> None:
    events = Threads()
    events.syncs(REQUEST, 110, 710)
    events.times_out(REQUEST, 800, 950, "nanosleep")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts == {"own": 600, "outside": 300}


def test_a_message_in_a_softirq_is_its_sender_s(
    tmp_path: Path, capsys: Capture
) -> None:
    """Through the loopback device a message is received in a softirq of the sender."""
    events = Threads()
    events.syncs(COMMITTER, 110, 990)
    events.waits(REQUEST, 105, 995, "recv", COMMITTER, "sends", ctx="softirq")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["others"] == 880


def test_threads_that_wait_for_each_other_end(tmp_path: Path, capsys: Capture) -> None:
    """A circle of wake-ups is no chain."""
    events = Threads()
    events.waits(REQUEST, 100, 1000, "futex", COMMITTER, lock_at=CONDITION)
    events.waits(COMMITTER, 90, 999, "recv", REQUEST, "sends")
    parts, _ = explained(tmp_path, events, 100, 900, capsys)
    assert parts["unknown"] == pytest.approx(899, abs=2)
