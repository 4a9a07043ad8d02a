# SPDX-License-Identifier: GPL-2.0-only
"""This test will start the child that reads for others, and let it die and lie."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import made_elf
from foreign.reader import Reader, UnreadError
from foreign.unread import Unread, count
from support import PROJECT

# The same calls with all rights and without: each must fail because of that alone.
CALLS = """
import os, socket, sys
from foreign.confinement import confine
victim = os.fork() or os.execv("/bin/sleep", ["sleep", "60"])
def works(call, *given):
    try:
        call(*given)
    except OSError:
        return False
    return True
def attempts():
    return [
        works(open, "/etc/hostname"), works(os.stat, "/"), works(os.getcwd),
        works(socket.socketpair), works(os.dup, 0), works(os.kill, victim, 0),
        works(os.chmod, sys.argv[1], 0o600), works(os.nice, 0), works(os.pipe),
    ]
print(attempts(), flush=True)
os.kill(victim, 9), os.wait()
victim = os.getppid()
confine()
print(attempts(), flush=True)
"""


@pytest.fixture
def child() -> Iterator[Reader]:
    one = Reader(5)
    yield one
    one.close()


@contextmanager
def opened(path: Path) -> Iterator[int]:
    with path.open("rb") as file:
        yield file.fileno()


def test_the_confined_can_do_nothing_but_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(tmp_path)],
        env={"PYTHONPATH": f"{PROJECT}/base:{PROJECT}/trace"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [str([True] * 9), str([False] * 9)]


def test_the_child_has_no_rights(child: Reader) -> None:
    with opened(Path(sys.executable)) as file:
        child.build_id(file)
    assert child._child
    status = Path(f"/proc/{child._child.pid}/status").read_text()
    for field in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        assert re.search(rf"^{field}:\s+0+$", status, re.MULTILINE), field
    for field, value in {"NoNewPrivs": 1, "Seccomp": 2}.items():
        assert re.search(rf"^{field}:\s+{value}$", status, re.MULTILINE), field
    if os.geteuid() == 0:
        assert re.search(r"^Uid:(\s+65534){4}$", status, re.MULTILINE)
    limits = Path(f"/proc/{child._child.pid}/limits").read_text()
    assert re.search(r"^Max address space\s+150994944 ", limits, re.MULTILINE)
    assert not re.search(r"^Max cpu time\s+unlimited", limits, re.MULTILINE)


def test_the_next_request_starts_another(child: Reader, tmp_path: Path) -> None:
    place = tmp_path / "good"
    rows = made_elf.symbol(1, 0x1000)
    place.write_bytes(made_elf.with_symbols(rows, b"\0first\0"))
    with opened(place) as file:
        assert child.find("elf", "k", 0x1004, [file]) == (4, "first")
        assert child.find("elf", "k", 0x1005) == (5, "first")
        assert child._child
        child._child.kill()
        with pytest.raises(UnreadError, match="its reader ended"):
            child.find("elf", "k", 0x1004)
        with pytest.raises(KeyError):  # another, which knows nothing
            child.find("elf", "k", 0x1004)
        assert child.find("elf", "k", 0x1004, [file]) == (4, "first")


def test_what_it_refuses_is_a_clause(child: Reader, tmp_path: Path) -> None:
    place = tmp_path / "large"
    place.write_bytes(made_elf.with_symbols(b"", b"", claimed=1 << 40))
    with opened(place) as file, pytest.raises(UnreadError, match="more than 32 MiB"):
        child.find("elf", "k", 0, [file])


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense",
        b"[" * 60_000,
        b"[]",
        b'{"found": 1}',
        b'{"found": [-1, "x"]}',
        b'{"found": ["1", "x"]}',
        b'{"found": [1, 2]}',
        b'{"found": [%s, "x"]}' % (b"9" * 5000),
        b'{"found": [1, "x", 3]}',
    ],
)
def test_a_wrong_answer_ends_the_child(child: Reader, answer: bytes) -> None:
    """As one that a file has taken over might give it."""
    with opened(Path(sys.executable)) as file:
        child.build_id(file)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        assert child._socket
        child._socket.close()
        child._socket = ours
        theirs.send(answer)
        with pytest.raises(UnreadError, match="answered wrongly"):
            child.find("elf", "k", 0)
    assert child._child and child._child.poll() is not None


def test_names_have_nothing_that_a_terminal_acts_on(
    child: Reader, tmp_path: Path
) -> None:
    place = tmp_path / "map"
    place.write_bytes(b"1000 10 \x1b[31mred\xff\n")
    with opened(place) as file:
        assert child.find("map", "k", 0x1000, [file]) == (0, "?[31mred\ufffd")


def test_no_answer_in_time_is_a_clause() -> None:
    one = Reader(0.3)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(0.3)
    one._socket = ours
    with theirs, pytest.raises(UnreadError, match=r"no answer within 0\.3 s"):
        one.find("elf", "k", 0)


def test_lines_of_unread_files_are_few_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = list[str]()
    unread = Unread(said.append)
    for at in range(5):
        unread.add(f"file {at}\x1b", "why")
    monkeypatch.setattr("foreign.unread.PERIOD_S", 0.0)
    unread.add("last", "why")
    assert said == ["file 0? not read: why", "last not read: why; 4 more before it"]
    assert [count(line) for line in said] == [1, 5]
    assert count("trace: core runs stalled_writes") == 0
