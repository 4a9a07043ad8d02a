# SPDX-License-Identifier: GPL-2.0-only
"""test_command: a command waits for the tracer, and is otherwise as without record."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from recorder.command import Command
from recorder.guard import Guard
from writestall_base.stop import Stop

LIMIT_S = 20


@pytest.mark.parametrize(
    ("text", "status"), [("exit 7", 7), ("kill -TERM $$", 143), ("true", 0)]
)
def test_its_status_is_that_of_a_shell(text: str, status: int) -> None:
    command = Command(["sh", "-c", text])
    command.go()
    assert command.status(Stop()) == status


def test_it_does_nothing_before_it_is_let_go(tmp_path: Path) -> None:
    made = tmp_path / "made"
    command = Command(["touch", str(made)])
    comm = Path(f"/proc/{command.pid}/comm")
    assert comm.read_text() != "touch\n"
    assert not made.exists()
    command.give_up()
    assert command.status(Stop()) != 0
    assert not made.exists()


def test_it_has_the_descriptors_that_record_was_given() -> None:
    """A pipe of its caller's is there, and none of record's own."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    count = "len(os.listdir('/proc/self/fd'))"
    text = f"import os; os.write({writer}, str({count}).encode())"
    plain = subprocess.run(["python3", "-c", text], close_fds=False, check=True)
    without_record = os.read(reader, 16)
    command = Command(["python3", "-c", text])
    command.go()
    assert command.status(Stop()) == plain.returncode == 0
    assert os.read(reader, 16) == without_record
    os.close(writer)
    os.close(reader)


def test_a_signal_to_record_alone_is_handed_on() -> None:
    command = Command(["sleep", "600"])
    command.go()
    stop = Stop("")
    stop.number = signal.SIGTERM
    assert command.status(stop) == 143


def _guarded(folder: Path, *, dismissed: bool) -> int:
    """A process that has a session and a folder guarded, and is killed; the session."""
    (folder / "content").write_text("")
    leader = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pid = os.fork()
    if pid == 0:
        guard = Guard()
        guard.session(leader.pid)
        guard.folder(folder)
        if dismissed:
            guard.dismiss()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    if dismissed:
        leader.kill()
    return leader.wait(LIMIT_S)


def test_what_a_killed_process_leaves_is_undone(tmp_path: Path) -> None:
    assert _guarded(tmp_path, dismissed=False) == -signal.SIGINT
    deadline_s = time.monotonic() + LIMIT_S
    while tmp_path.exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_nothing_is_undone_twice(tmp_path: Path) -> None:
    assert _guarded(tmp_path, dismissed=True) == -signal.SIGKILL
    assert (tmp_path / "content").exists()
