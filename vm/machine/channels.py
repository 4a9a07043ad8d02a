# SPDX-License-Identifier: GPL-2.0-only
"""channels: read a guest's output ports; forward or keep their bytes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

CHUNK_BYTES = 1 << 16


class Channels:
    """One pipe per port, each read by a thread until QEMU closes it.

    `fds` are the write ends for QEMU, which accepts only write-only ones that are not
    its standard streams. `forward` maps a port to the descriptor that its bytes are
    written to; the bytes of other ports are in `heard`, so far.
    """

    def __init__(self, ports: tuple[str, ...], forward: dict[str, int]) -> None:
        self.heard = {port: b"" for port in ports if port not in forward}
        self.fds: dict[str, int] = {}
        self._calls: dict[str, Callable[[], None]] = {}
        self._threads: list[threading.Thread] = []
        for port in ports:
            reader, self.fds[port] = os.pipe()
            thread = threading.Thread(
                target=self._drain, args=(port, reader, forward.get(port))
            )
            self._threads.append(thread)

    def when_heard(self, port: str, call: Callable[[], None]) -> None:
        """Call that whenever a port says something, or has said it by now."""
        self._calls[port] = call
        if self.heard[port]:
            call()

    def _drain(self, port: str, reader: int, target: int | None) -> None:
        with os.fdopen(reader, "rb", buffering=0) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                if port in self.heard:
                    self.heard[port] += chunk
                    if call := self._calls.get(port):
                        call()
                    continue
                try:
                    while chunk and target is not None:
                        chunk = chunk[os.write(target, chunk) :]
                except OSError:  # our reader is gone; keep reading for the guest
                    target = None

    def __enter__(self) -> Channels:
        for thread in self._threads:
            thread.start()
        return self

    def close_ours(self) -> None:
        """Close our copies of the write ends, so that EOF comes when QEMU exits."""
        while self.fds:
            os.close(self.fds.popitem()[1])

    def __exit__(self, *_: object) -> None:
        self.close_ours()
        for thread in self._threads:
            thread.join()
