# SPDX-License-Identifier: GPL-2.0-only
"""child: the process that reads files of other users; reader.py starts it.

It has no rights (confinement.py). A message of its socket, stdin, is a JSON object with
descriptors beside it, and is answered by one:

    {"do": "build_id"} [file]                     {"build_id": "..."}
    {"do": "elf", "key": K, "at": OFFSET} [file [debug file]]
                                                  {"found": [distance, name or null]}
    {"do": "map", "key": K, "at": ADDRESS, "stamp": S} [map]
                                                  the same, or {"found": null}
    a key that is unknown, without a file         {"unknown": true}
    what cannot be read                           {"why": "..."}

What was read is kept by its key; a map with another stamp, its time and size, is read
anew.
"""

from __future__ import annotations

import json
import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from foreign import functions, perf_map
from foreign.confinement import bound_cpu, confine
from writestall_base.elf import Elf

MESSAGE_BYTES, MOST_FILES = 64 << 10, 2
KEPT_BYTES = 32 << 20
READY = {"ready": True}
Reply = dict[str, Any]


class Answers:
    """What was read so far, the latest last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[object, Any]] = OrderedDict()

    def to(self, request: Reply, files: list[int]) -> Reply:
        """Answer a request; what is wrong with a file is said in `why`."""
        try:
            answer: Callable[[Reply, list[int]], Reply] = getattr(self, request["do"])
            return answer(request, files)
        except MemoryError:
            self._kept.clear()
            return {"why": "it takes more memory than its reader may have"}
        except (OSError, ValueError) as error:
            return {"why": getattr(error, "strerror", None) or str(error)}

    def build_id(self, _: Reply, files: list[int]) -> Reply:
        return {"build_id": Elf.of_file(files[0]).build_id()}

    def elf(self, request: Reply, files: list[int]) -> Reply:
        if files:
            self._keep(request["key"], None, lambda: functions.read(*files))
        return self._found(request)

    def map(self, request: Reply, files: list[int]) -> Reply:
        if files:
            stamp = request["stamp"]
            self._keep(request["key"], stamp, lambda: perf_map.read(files[0]))
        return self._found(request)

    def _keep(self, key: str, stamp: object, read: Callable[[], Any]) -> None:
        if key in self._kept and self._kept[key][0] == stamp:
            return
        self._kept.pop(key, None)
        self._kept[key] = stamp, read()
        while self._held_bytes() > KEPT_BYTES and len(self._kept) > 1:
            self._kept.popitem(last=False)

    def _held_bytes(self) -> int:
        return sum(table.held_bytes for _, table in self._kept.values())

    def _found(self, request: Reply) -> Reply:
        if request["key"] not in self._kept:
            return {"unknown": True}
        self._kept.move_to_end(request["key"])
        return {"found": self._kept[request["key"]][1].find(request["at"])}


def serve(end: socket.socket) -> None:
    """Answer until the other end is closed."""
    answers = Answers()
    while True:
        message, files, _, _ = socket.recv_fds(end, MESSAGE_BYTES, MOST_FILES)
        if not message:
            return
        bound_cpu()
        try:
            reply = answers.to(json.loads(message), files)
        finally:
            for file in files:
                os.close(file)
        end.send(json.dumps(reply).encode())


def main() -> None:
    """Give up all rights, say so, and serve."""
    with socket.socket(fileno=0) as end:
        try:
            confine()
        except OSError as error:
            end.send(json.dumps({"why": f"no confined reader: {error}"}).encode())
            return
        end.send(json.dumps(READY).encode())
        serve(end)


if __name__ == "__main__":
    main()
