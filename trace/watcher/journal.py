# SPDX-License-Identifier: GPL-2.0-only
"""journal: send entries with fields to systemd's journal.

One datagram an entry, KEY=value lines: systemd.io, "Native Journal Protocol". Values of
more than one line have their length before them.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

SOCKET = Path("/run/systemd/journal/socket")
OWN = "WRITESTALL_"
MOST_VALUE_BYTES = 4096  # a datagram holds an entry (net.core.wmem_default)


def is_output() -> bool:
    """Whether stderr goes to the journal: systemd.exec(5), JOURNAL_STREAM."""
    stream = os.environ.get("JOURNAL_STREAM", "")
    try:
        status = os.fstat(2)
    except OSError:
        return False
    return stream == f"{status.st_dev}:{status.st_ino}"


def datagram(message: str, priority: int, fields: Mapping[str, object]) -> bytes:
    """An entry; the fields get a prefix that is this program's, and are text."""
    rows = {"MESSAGE": message, "PRIORITY": str(priority)}
    rows |= {"SYSLOG_IDENTIFIER": "writestall"}
    rows |= {f"{OWN}{name}": _text(value) for name, value in fields.items()}
    return b"".join(_row(name, value) for name, value in rows.items())


def _text(value: object) -> str:
    return str(int(value) if isinstance(value, bool) else value)


def _row(name: str, value: str) -> bytes:
    data = value.encode(errors="replace")[:MOST_VALUE_BYTES]
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"


class Journal:
    """A connection to the journal; raises OSError where there is none."""

    def __init__(self, place: Path = SOCKET) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.connect(str(place))

    def send(self, message: str, priority: int, fields: Mapping[str, object]) -> None:
        """Send an entry; raises OSError if the journal is gone."""
        self._socket.send(datagram(message, priority, fields))
