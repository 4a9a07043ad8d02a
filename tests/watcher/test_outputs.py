# SPDX-License-Identifier: GPL-2.0-only
"""test_outputs: a slow terminal, journal or client keeps nothing from being traced."""

from __future__ import annotations

import argparse
import http.client
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge

from watcher import journal, options, output, scrapes
from watcher.clocks import Clocks
from watcher.names import Names
from watcher.output import Entry, Output
from watcher.own import Costs, missing_probes
from writestall_base.errors import UserError

ID = "4f1d" * 16
LIMIT_S = 20


def test_a_slow_output_is_counted_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, going_on, written = threading.Event(), threading.Event(), []

    def slow(text: str, **_: object) -> None:
        begun.set()
        going_on.wait(LIMIT_S)
        written.append(text)

    monkeypatch.setattr(output, "print", slow, raising=False)
    out = Output()
    out.put(Entry("first"))
    assert begun.wait(LIMIT_S)
    most = output.MOST_WAITING
    for number in range(most + 500):
        out.put(Entry(str(number)))
    assert out.unprinted == 500
    going_on.set()
    deadline_s = time.monotonic() + LIMIT_S
    while len(written) <= most and time.monotonic() < deadline_s:
        time.sleep(0.01)
    out.put(Entry("last"))
    out.close()
    *_, told, last = written
    assert (told, last) == (
        f"{out.unprinted} lines were not printed: the output was too slow",
        "last",
    )


def test_a_closed_output_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "w") as closed:  # noqa: PTH123
        pass
    monkeypatch.setattr(sys, "stdout", closed)
    out = Output()
    out.put(Entry("lost"))
    out.close()
    assert out.unprinted == 1


def test_an_entry_of_the_journal_has_its_fields(tmp_path: Path) -> None:
    place = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(place))
        out = Output(journal.Journal(place))
        out.put(
            Entry(
                "a stall",
                5,
                "2026",
                {"FILE": "lab/a\nMESSAGE=x", "TID": 7, "HOLDER_INFERRED": True},
            )
        )
        out.close()
        data = receiver.recv(65536)
    assert data.startswith(b"MESSAGE=a stall\nPRIORITY=5\nSYSLOG_IDENTIFIER=writestall")
    assert b"\nWRITESTALL_TID=7\n" in data
    assert b"\nWRITESTALL_HOLDER_INFERRED=1\n" in data
    # A value of several lines has its length before it, and adds no field.
    length = len(b"lab/a\nMESSAGE=x").to_bytes(8, "little")
    assert b"WRITESTALL_FILE\n" + length + b"lab/a\nMESSAGE=x\n" in data


def test_the_journal_is_known_by_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.fstat(2)
    for told, there in ((f"{status.st_dev}:{status.st_ino}", True), ("1:2", False)):
        monkeypatch.setenv("JOURNAL_STREAM", told)
        assert journal.is_output() == there


@pytest.fixture
def registry() -> CollectorRegistry:
    made = CollectorRegistry()
    Gauge("ready", "Always 1.", registry=made).set(1)
    return made


def _scraped(port: int, host: str = "127.0.0.1") -> bytes:
    asked = http.client.HTTPConnection(host, port, timeout=LIMIT_S)
    asked.request("GET", "/metrics")
    text = asked.getresponse().read()
    asked.close()
    return text


def _connected(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(LIMIT_S)
    return client


def _left_after_s(client: socket.socket) -> float:
    """When the server has left a client that sends a byte ten times a second."""
    begun_s = time.monotonic()
    client.settimeout(0.1)
    while time.monotonic() - begun_s < LIMIT_S:
        try:
            client.send(b"G")
            if not client.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun_s


def test_a_client_that_asks_slowly_has_a_deadline(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrapes, "DEADLINE_S", 1.0)
    port = scrapes.serve(registry, ("127.0.0.1", 0))
    assert _left_after_s(_connected(port)) < LIMIT_S / 2


def test_a_client_that_does_not_read_has_a_deadline(
    registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrapes, "DEADLINE_S", 1.0)
    text = "more than the buffers of both sockets hold " * 50_000
    for number in range(10):
        Gauge(f"large_{number}", text, registry=registry)
    port = scrapes.serve(registry, ("127.0.0.1", 0))
    client = _connected(port)
    client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    time.sleep(3)
    received = 0
    with suppress(ConnectionError):  # what was not sent is dropped with it
        while part := client.recv(1 << 20):
            received += len(part)
    assert 0 < received < 10 * len(text)


def test_the_oldest_client_makes_room(registry: CollectorRegistry) -> None:
    port = scrapes.serve(registry, ("127.0.0.1", 0))
    threads = threading.active_count()
    silent = [_connected(port) for _ in range(scrapes.MOST_CLIENTS)]
    assert b"ready 1.0" in _scraped(port)
    assert silent[0].recv(1) == b""
    silent[-1].sendall(b"GET / HTTP/1.0\r\n\r\n")
    assert silent[-1].recv(15) == b"HTTP/1.1 200 OK"
    assert threading.active_count() == threads
    for client in silent:
        client.close()


def test_clients_that_come_without_end_keep_nobody_away(
    registry: CollectorRegistry,
) -> None:
    port = scrapes.serve(registry, ("127.0.0.1", 0))
    ending, count = threading.Event(), 0

    def flood() -> None:
        nonlocal count
        kept: list[socket.socket] = []
        while not ending.is_set():
            kept.append(_connected(port))
            count += 1
            if len(kept) > 2 * scrapes.MOST_CLIENTS:
                kept.pop(0).close()

    threads = [threading.Thread(target=flood) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        while count < 10 * scrapes.MOST_CLIENTS:
            assert b"ready 1.0" in _scraped(port)
    finally:
        ending.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", b"200 OK"),
        (b"GET / HTTP/1.0\r\n\r\n", b"200 OK"),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"405 Method Not Allowed"),
        (b"GET metrics HTTP/1.1\r\n\r\n", b"400 Bad Request"),
        (b"\x16\x03\x01\r\n\r\n", b"400 Bad Request"),
        (
            b"GET / HTTP/1.1\r\nA: %s\r\n\r\n" % (b"a" * 9000),
            b"431 Request Header Fields Too Large",
        ),
        (
            b"GET / HTTP/1.1\r\n%s\r\n" % (b"A: a\r\n" * 200),
            b"431 Request Header Fields Too Large",
        ),
    ],
)
def test_a_request_has_one_answer(
    registry: CollectorRegistry, request_: bytes, status: bytes
) -> None:
    client = _connected(scrapes.serve(registry, ("127.0.0.1", 0)))
    client.sendall(request_)
    answer = b""
    with suppress(ConnectionError):  # what it has not read ends it
        while part := client.recv(4096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert (b"ready 1.0" in answer) == (status == b"200 OK")


def test_what_the_library_cannot_read_is_answered(registry: CollectorRegistry) -> None:
    port = scrapes.serve(registry, ("127.0.0.1", 0))
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    accept = {"Accept": "application/openmetrics-text; version=x"}
    asked.request("GET", "/metrics", headers=accept)
    assert asked.getresponse().status in (200, 500)  # by its version
    assert b"ready 1.0" in _scraped(port)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
        ("::", False),
        ("fe80::1%1", False),
    ],
)
def test_a_loopback_is_known(host: str, local: bool) -> None:
    assert scrapes.is_loopback(host) == local


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", ""), ("::1", "[::1]")])
def test_a_port_that_is_taken_is_named(
    registry: CollectorRegistry, host: str, shown: str
) -> None:
    if ":" in host and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this kernel has no IPv6")
    port = scrapes.serve(registry, (host, 0))
    assert b"ready 1.0" in _scraped(port, host)
    with pytest.raises(UserError) as refused:
        scrapes.serve(registry, (host, port))
    assert str(refused.value) == (
        f"--listen {shown or host}:{port}: Address already in use; name another port"
    )


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "no.such.invalid"])
def test_a_host_that_is_another_is_named(
    registry: CollectorRegistry, host: str
) -> None:
    with pytest.raises(UserError, match="; name an address of this host"):
        scrapes.serve(registry, (host, 0))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("localhost:1", ("localhost", 1)),
        ("[::]:65535", ("::", 65535)),
        ("[fe80::1%eth0]:1", ("fe80::1%eth0", 1)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, place: tuple[str, int]) -> None:
    assert options.address(text) == place


@pytest.mark.parametrize("text", ["::1:1", "a:65536", "a:\u0663", "[a:1", ":1", "a:"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="want HOST:PORT"):
        options.address(text)


def test_a_textfile_is_replaced_whole(
    registry: CollectorRegistry, tmp_path: Path
) -> None:
    place = tmp_path / "writestall.prom"
    file = scrapes.Textfile(registry, place, lambda _: None)
    assert "ready 1.0" in place.read_text()
    place.unlink()
    file.write()
    deadline_s = time.monotonic() + LIMIT_S
    while not place.exists() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert "ready 1.0" in place.read_text()
    assert [path.name for path in tmp_path.iterdir()] == [place.name]


def test_a_textfile_that_cannot_be_written_is_reported_once(
    registry: CollectorRegistry, tmp_path: Path
) -> None:
    place, told = tmp_path / "there/writestall.prom", list[str]()
    place.parent.mkdir()
    file = scrapes.Textfile(registry, place, told.append)

    def write_until(done: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while not done():
            assert time.monotonic() < deadline_s, told
            file.write()
            time.sleep(0.01)

    shutil.rmtree(place.parent)
    write_until(lambda: bool(told))
    for _ in range(10):
        file.write()
        time.sleep(0.01)
    place.parent.mkdir()
    write_until(lambda: len(told) > 1)
    file.close()
    failed = f"--textfile {place}: No such file or directory; the metrics there are old"
    assert [line[: len(failed)] for line in told] == [
        failed,
        f"--textfile {place}: written again",
    ]


def test_a_clock_that_was_set_is_noticed() -> None:
    ahead = [10**18]
    clocks = Clocks(lambda: ahead[0])
    before = clocks.text(5 * 10**9)
    assert clocks.stepped_s() == 0
    ahead[0] += 10**8  # slewed
    assert clocks.stepped_s() == 0
    ahead[0] -= 3600 * 10**9
    assert clocks.stepped_s() == -3600
    assert clocks.stepped_s() == 0
    assert clocks.text(5 * 10**9) < before


def test_a_container_gets_its_name_when_its_file_was_read(tmp_path: Path) -> None:
    place = tmp_path / f"var/lib/docker/containers/{ID}/config.v2.json"
    place.parent.mkdir(parents=True)
    place.write_text('{"Name": "/db"}')
    names, path = Names(tmp_path), f"/system.slice/docker-{ID}.scope"
    assert names(path) in ("4f1d4f1d4f1d", "db")
    deadline_s = time.monotonic() + LIMIT_S
    while names(path) != "db" and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert names(path) == "db"
    assert names("/user.slice") == "cgroup user.slice"


def test_the_cost_is_that_of_the_processes() -> None:
    own, engine = Costs().now(os.getpid())
    assert own.process == "watch"
    assert own.resident_bytes > 1 << 20
    assert engine.cpu_s >= own.cpu_s > 0


def test_probes_that_the_kernel_lacks_are_named(tmp_path: Path) -> None:
    there = tmp_path / "functions"
    there.write_text("submit_bio\nbio_endio\next4_x [ext4]\n")
    assert missing_probes(there) == ["throtl_qnode_add_bio"]
    assert missing_probes(tmp_path / "none") == []
