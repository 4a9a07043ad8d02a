# SPDX-License-Identifier: GPL-2.0-only
"""scrapes: give the metrics to Prometheus, over HTTP or as a file of node_exporter.

prometheus_client makes the text. Its own server has a thread for each client and no
limit; of the libraries that serve WSGI or ASGI, waitress and cheroot restart a client's
time with each byte, and uvicorn has none for a request. So this is asyncio's server
with three limits: time, clients and bytes.
"""

from __future__ import annotations

import asyncio
import errno
import http.client
import io
import ipaddress
import os
import re
import socket
import threading
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest, make_wsgi_app

from writestall_base.errors import UserError
from writestall_base.files import save

# From the connection to the last byte of the answer.
DEADLINE_S = 5.0
MOST_CLIENTS = 32
MOST_HEAD_BYTES = 8 << 10  # of a request: its line and its headers
# So many are accepted before those that have asked are answered, and so many wait for
# that: with the second one full, the kernel drops a SYN, which is sent again after 1 s.
ACCEPTED_AT_ONCE, BACKLOG = 8, 128
REQUEST = re.compile(r"([A-Z]+) (/[^ ?]*)\??([^ ]*) HTTP/1\.[01]")
WRITTEN_WITHIN_S = 5.0
# What helps, by what bind(2) says; else the host is not known, or not this one.
REMEDIES = {errno.EADDRINUSE: "name another port", errno.EACCES: "name another port"}
ANOTHER_HOST = "name an address of this host"
FIRST_PASSED = 3  # sd_listen_fds(3)


class _Server:
    """Answers a request of each client; the oldest client makes room for a new one."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._metrics: Callable[..., Any] = make_wsgi_app(registry)
        self._clients: dict[asyncio.Task[Any], None] = {}  # the oldest first

    async def run(self, listening: socket.socket) -> None:
        """Serve until the program ends."""
        server = await asyncio.start_server(
            self._serve, sock=listening, limit=MOST_HEAD_BYTES, backlog=ACCEPTED_AT_ONCE
        )
        listening.listen(BACKLOG)  # asyncio has one number for both
        await server.serve_forever()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task
        if len(self._clients) >= MOST_CLIENTS:
            oldest = next(iter(self._clients))
            del self._clients[oldest]
            oldest.cancel()
        self._clients[task] = None
        try:
            async with asyncio.timeout(DEADLINE_S):
                writer.write(await self._answer(reader))
                writer.close()
                await writer.wait_closed()
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            pass  # it went away, was too slow, or made room
        finally:
            writer.transport.abort()
            self._clients.pop(task, None)

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _response("431 Request Header Fields Too Large")
        line, _, fields = head.partition(b"\r\n")
        asked = REQUEST.fullmatch(line.decode("latin-1"))
        try:
            headers = http.client.parse_headers(io.BytesIO(fields))
        except http.client.HTTPException:  # more than a hundred
            return _response("431 Request Header Fields Too Large")
        if not asked:
            return _response("400 Bad Request")
        method, path, query = asked.groups()
        if method != "GET":
            return _response("405 Method Not Allowed", [("Allow", "GET")])
        return self._page(path, query, headers)

    def _page(self, path: str, query: str, headers: http.client.HTTPMessage) -> bytes:
        """What prometheus_client answers, as PEP 3333 has it."""
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": query}
        for name in ("Accept", "Accept-Encoding"):
            environ[f"HTTP_{name.upper().replace('-', '_')}"] = headers.get(name, "")
        status, fields = "", list[tuple[str, str]]()

        def start(given: str, others: list[tuple[str, str]]) -> None:
            nonlocal status
            status = given
            fields.extend(others)

        try:
            content = b"".join(self._metrics(environ, start))
        except Exception:  # 0.26: TypeError for `Accept: ...; version=x`
            return _response("500 Internal Server Error")
        return _response(status, fields, content)


def _response(
    status: str, headers: list[tuple[str, str]] | None = None, content: bytes = b""
) -> bytes:
    rows = [("Date", formatdate(usegmt=True)), ("Connection", "close")]
    rows += [*(headers or []), ("Content-Length", str(len(content)))]
    text = "".join(f"{name}: {value}\r\n" for name, value in rows)
    return f"HTTP/1.1 {status}\r\n{text}\r\n".encode("latin-1") + content


def written(host: str, port: int) -> str:
    """HOST:PORT, as --listen and URLs have it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only processes of this host reach that address of it."""
    places = {row[4][0] for row in socket.getaddrinfo(host, None)}
    return all(
        ipaddress.ip_address(str(place).partition("%")[0]).is_loopback
        for place in places
    )


def serve(registry: CollectorRegistry, place: tuple[str, int]) -> int:
    """Answer GET /metrics from now on; return the port."""
    try:
        listening = _bound(*place)
    except OSError as error:
        helps = REMEDIES.get(error.errno or 0, ANOTHER_HOST)
        raise UserError(
            f"--listen {written(*place)}: {error.strerror}; {helps}"
        ) from None
    port = int(listening.getsockname()[1])
    running = _Server(registry).run(listening)
    threading.Thread(
        target=asyncio.run, args=(running,), name="scrapes", daemon=True
    ).start()
    return port


def _bound(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    )[0]
    if passed := _passed(address):
        return passed
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def _passed(address: tuple[Any, ...]) -> socket.socket | None:
    """The socket that listens at that address already, if systemd passes it."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    for number in range(FIRST_PASSED, FIRST_PASSED + int(os.environ["LISTEN_FDS"])):
        passed = socket.socket(fileno=number)
        if passed.getsockname() == address:
            return passed
        passed.detach()
    return None


class Textfile:
    """A file that node_exporter reads, written anew by a thread of its own.

    report  hears when that begins to fail, and when it is well again
    """

    def __init__(
        self, registry: CollectorRegistry, path: Path, report: Callable[[str], None]
    ) -> None:
        self._registry, self._path, self._report = registry, path, report
        self._wanted, self._ending, self._failing = threading.Event(), False, False
        try:
            save(path, generate_latest(registry))
        except UserError as error:
            raise UserError(
                f"--textfile {error}; name a file in a folder that can be written"
            ) from None
        self._thread = threading.Thread(target=self._run, name="textfile", daemon=True)
        self._thread.start()

    def write(self) -> None:
        """Write it soon."""
        self._wanted.set()

    def close(self) -> None:
        """Write it for the last time, unless its disk takes too long."""
        self._ending = True
        self._wanted.set()
        self._thread.join(WRITTEN_WITHIN_S)

    def _run(self) -> None:
        last = False
        while not last:
            self._wanted.wait()
            self._wanted.clear()
            last = self._ending
            self._save()

    def _save(self) -> None:
        why = ""
        try:
            save(self._path, generate_latest(self._registry))
        except UserError as error:
            why = f"{error}; the metrics there are old until it can be written"
        if self._failing != bool(why):
            self._failing = bool(why)
            self._report(f"--textfile {why or f'{self._path}: written again'}")
