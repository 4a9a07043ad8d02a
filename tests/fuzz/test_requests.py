# SPDX-License-Identifier: GPL-2.0-only
"""This test will send damaged requests to the metrics' server, which runs as root.

Whatever is sent, the client is answered once or left, and the next one is answered.
"""

from __future__ import annotations

import logging
import re
import socket
from contextlib import suppress

import edits
import pytest
from drawing import SECONDS, drawn
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from watcher import scrapes

LIMIT_S = 20
# What Prometheus, curl and a proxy send, and what a parser may stumble over.
REQUESTS = (
    [
        b"GET /metrics HTTP/1.1\r\n",
        b"Host: localhost:9709\r\n",
        b"User-Agent: Prometheus/2.42.0\r\n",
        b"Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n",
        b"Accept-Encoding: gzip\r\n",
        b"X-Prometheus-Scrape-Timeout-Seconds: 10\r\n",
        b"\r\n",
    ],
    [b"GET /metrics?name[]=ready&name%5b%5d=%ff HTTP/1.0\r\n", b"\r\n"],
    [b"GET /favicon.ico HTTP/1.1\r\n", b"Accept:\r\n", b" folded\r\n", b"\r\n"],
    [b"POST / HTTP/1.1\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n", b"0\r\n\r\n"],
    [b"GET / HTTP/1.1\r\n", *[b"A: b\r\n"] * 120, b"\r\n"],
)
END = b"\r\n\r\n"
ANSWER = re.compile(rb"HTTP/1\.1 (200|400|405|431|500) [^\r\n]+\r\n")


@pytest.fixture
def port() -> int:
    registry = CollectorRegistry()
    Gauge("ready", "Always 1.", registry=registry).set(1)
    return scrapes.serve(registry, ("127.0.0.1", 0))


def _answer(port: int, request: bytes) -> bytes:
    """All that is sent back, up to the end of the connection."""
    answer = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client,
        suppress(ConnectionError),  # what the server has not read ends it
    ):
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        while part := client.recv(1 << 16):
            answer += part
    return answer


def test_no_request_breaks_the_server(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    right = b"GET /metrics HTTP/1.1\r\n\r\n"

    def one(request: bytes) -> None:
        answer = _answer(port, request)
        # What comes behind a request may end the connection before it is answered.
        head, end, more = request.partition(END)
        whole = end and not more and len(head) < scrapes.MOST_HEAD_BYTES
        assert answer or not whole, request
        assert not answer or ANSWER.match(answer), answer
        assert answer.count(b"HTTP/1.1 ") <= 1, answer

    drawing = st.sampled_from(REQUESTS).flatmap(
        lambda lines: edits.edited(lines, edits.OF_TEXT)
    )
    with caplog.at_level(logging.WARNING):
        count = drawn(drawing, one)
        assert b"ready 1.0" in _answer(port, right)
    assert not caplog.records  # asyncio logs what a task did not catch
    print(f"fuzz: {count} requests in {SECONDS:g} s")
    assert count
