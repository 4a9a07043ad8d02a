# SPDX-License-Identifier: GPL-2.0-only
"""tcp_server_sleeps: requests wait for a server that sleeps before it answers.

The server is another process of this host, asked by TCP. A thread of the program syncs
a log all the time, which no request needs. Truth: no disk.
"""

from __future__ import annotations

import os
import socket
import time

from truths import Truths, bystander, has_time

truths = Truths()
listener = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    client = listener.accept()[0]
    while client.recv(1000):
        time.sleep(0.7)
        client.sendall(b"done")
    os._exit(0)
bystander()
server = socket.create_connection(listener.getsockname())
while has_time():
    start_ns = time.monotonic_ns()
    server.sendall(b"GET")
    server.recv(1000)
    truths.ended(start_ns)
    time.sleep(0.05)
truths.write()
