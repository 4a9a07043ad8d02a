# SPDX-License-Identifier: GPL-2.0-only
"""scrapes: give the metrics to Prometheus, over HTTP or as a file of node_exporter.

prometheus_client makes the text; its own server waits without a limit for a client that
reads slowly, and starts a thread for each, so this one has limits.
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, generate_latest, make_wsgi_app

from labrun.errors import RefusedError
from writestall.common.errors import WritestallError
from writestall.common.files import save

PATIENCE_S = 5.0
MOST_AT_ONCE = 4
WRITTEN_WITHIN_S = 5.0
# What helps, by what bind(2) says; else the host is not known, or not this one.
REMEDIES = {errno.EADDRINUSE: "name another port", errno.EACCES: "name another port"}
ANOTHER_HOST = "name an address of this host"


class _Handler(WSGIRequestHandler):
    """Gives up on a client that neither asks nor reads."""

    timeout = PATIENCE_S

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: each scrape would be a line."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, host: str, port: int) -> None:
        self._room = threading.Semaphore(MOST_AT_ONCE)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self.address_family = found[0][0]
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread, unless there are enough: the client is sent away."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's mistake."""


def written(host: str, port: int) -> str:
    """HOST:PORT, as --listen and URLs have it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def serve(registry: CollectorRegistry, place: tuple[str, int]) -> int:
    """Answer GET /metrics from now on; return the port."""
    try:
        server = _Server(*place)
    except OSError as error:
        helps = REMEDIES.get(error.errno or 0, ANOTHER_HOST)
        raise RefusedError(
            f"--listen {written(*place)}: {error.strerror}; {helps}"
        ) from None
    server.set_app(make_wsgi_app(registry))
    threading.Thread(target=server.serve_forever, name="scrapes", daemon=True).start()
    return int(server.server_port)


class Textfile:
    """A file that node_exporter reads, written anew by a thread of its own.

    told  hears when that begins to fail, and when it is well again
    """

    def __init__(
        self, registry: CollectorRegistry, path: Path, told: Callable[[str], None]
    ) -> None:
        self._registry, self._path, self._told = registry, path, told
        self._wanted, self._ending, self._failing = threading.Event(), False, False
        try:
            save(path, generate_latest(registry))
        except WritestallError as error:
            raise RefusedError(
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
        except WritestallError as error:
            why = f"{error}; the metrics there are old until it can be written"
        if self._failing != bool(why):
            self._failing = bool(why)
            self._told(f"--textfile {why or f'{self._path}: written again'}")
