# SPDX-License-Identifier: GPL-2.0-only
"""test_service: systemd is told of progress, and of none while a dump is stuck."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import PROJECT
from watcher import presence
from watcher.presence import Service

LIMIT_S = 20
# Serves at the address of a socket that it was passed, if it was.
SERVES = """
import os, sys
sys.path[:0] = {paths!r}
from prometheus_client import CollectorRegistry
from watcher import scrapes
os.environ |= {{"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}}
os.dup2({passed}, scrapes.FIRST_PASSED)
print(scrapes.serve(CollectorRegistry(), ("127.0.0.1", {port})), flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["path", "abstract"])
def manager(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """A socket that receives as systemd does, at an address of each kind."""
    place = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(LIMIT_S)
        receiver.bind(place if request.param == "path" else f"\0{place}")
        told = place if request.param == "path" else f"@{place}"
        monkeypatch.setenv("NOTIFY_SOCKET", told)
        monkeypatch.setenv("WATCHDOG_USEC", "1000")
        yield receiver


def test_it_gets_what_goes_on(manager: socket.socket) -> None:
    one = Service()
    one.ready()
    assert one.keep_alive()
    assert [manager.recv(64), manager.recv(64)] == [b"READY=1", b"WATCHDOG=1"]
    # A child would tell in this one's place.
    assert "NOTIFY_SOCKET" not in os.environ


def test_a_dump_that_is_stuck_is_no_progress(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "DUMPED_WITHIN_S", -1.0)
    ending, one = threading.Event(), Service()
    thread = threading.Thread(target=ending.wait, name="dump", daemon=True)
    thread.start()
    assert not one.keep_alive()
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(64)
    ending.set()
    thread.join()
    assert one.keep_alive()
    assert manager.recv(64) == b"WATCHDOG=1"


def test_a_dump_has_its_time(manager: socket.socket) -> None:
    ending = threading.Event()
    thread = threading.Thread(target=ending.wait, name="dump", daemon=True)
    thread.start()
    assert Service().keep_alive()
    ending.set()
    thread.join()


def test_a_watchdog_is_not_notified_more_often_than_it_needs(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "120000000")
    one = Service()
    assert [one.keep_alive() for _ in range(100)] == [True] * 100
    assert manager.recv(64) == b"WATCHDOG=1"
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(64)


def test_without_systemd_nobody_is_notified(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
        monkeypatch.delenv(name, raising=False)
    one = Service()
    one.ready()
    assert one.keep_alive()


@pytest.mark.parametrize("same", [True, False])
def test_a_socket_that_was_passed_is_taken_for_its_address(same: bool) -> None:
    folders = ("base", "analysis", "trace", "repro")
    with socket.create_server(("127.0.0.1", 0)) as passed:
        port = passed.getsockname()[1]
        program = SERVES.format(
            paths=[str(PROJECT / name) for name in folders],
            passed=passed.fileno(),
            port=port if same else 0,
        )
        with subprocess.Popen(
            [sys.executable, "-c", program],
            pass_fds=[passed.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            served = int(process.stdout.readline())
            assert (served == port) == same
            with socket.create_connection(("127.0.0.1", served), LIMIT_S) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert client.recv(15) == b"HTTP/1.1 200 OK"
            process.terminate()
