# SPDX-License-Identifier: GPL-2.0-only
"""tcp_server_syncs: three threads ask a server on this host by TCP.

The server is one other process, which syncs its log before each answer, one after
another. Truth: the disk, for as long as the server was in write(2) and fsync(2).
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from truths import Truths, has_time, in_threads, opened, synced

truths = Truths()
listener = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    log, clients = opened("server.log"), [listener.accept()[0] for _ in range(3)]
    while True:
        for client in select.select(clients, [], [])[0]:
            if not client.recv(1000):
                os._exit(0)
            client.sendall(json.dumps(synced(log)).encode())


servers = [socket.create_connection(listener.getsockname()) for _ in range(3)]


def request(number: int) -> None:
    server = servers[number]
    while has_time():
        start_ns = time.monotonic_ns()
        server.sendall(b"PUT")
        call = server.recv(1000)
        truths.ended(start_ns)
        truths.calls.append(json.loads(call))
        time.sleep(0.2)


in_threads(3, request)
truths.write()
