# SPDX-License-Identifier: GPL-2.0-only
"""reader: have a child without rights read files of other users (child.py).

What such a file does to its reader ends that child alone; the next request starts
another. An answer is any user's, too: it is checked before it is taken.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from writestall_base import TREE

MODULES = f"{TREE}/base:{TREE}/trace"
# Of one answer; CPU time has a bound of its own, so this is for a disk that stalls.
PATIENCE_S = 20.0
ANSWER_BYTES = 64 << 10
BUILD_ID = re.compile(r"(?:[0-9a-f]{2}){0,64}")
MOST_DISTANCE = 1 << 64


class UnreadError(Exception):
    """Why a file could not be read, a clause."""


class Reader:
    """The child, which is started with the first request. It belongs to one thread."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._child: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def build_id(self, file: int) -> str:
        """The build id of a file; empty without one. Raises UnreadError."""
        found = self._ask({"do": "build_id"}, [file]).get("build_id")
        if not isinstance(found, str) or not BUILD_ID.fullmatch(found):
            raise self._broken("it was answered wrongly")
        return found

    def find(
        self, kind: str, key: str, at: int, files: Sequence[int] = ()
    ) -> tuple[int, str | None] | None:
        """The distance from a function's start, and its name, in an `elf` or a `map`.

        None if nothing is there. Raises KeyError if a file is needed, UnreadError.
        """
        request: dict[str, Any] = {"do": kind, "key": key, "at": at}
        if files:
            status = os.fstat(files[0])
            request["stamp"] = [status.st_ino, status.st_mtime_ns, status.st_size]
        answer = self._ask(request, files)
        if answer.get("unknown") is True:
            raise KeyError(key)
        match answer.get("found"):
            case None:
                return None
            case [int(distance), None] if 0 <= distance < MOST_DISTANCE:
                return distance, None
            case [int(distance), str(name)] if 0 <= distance < MOST_DISTANCE:
                return distance, printable(name)
        raise self._broken("it was answered wrongly")

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None
        if self._child:
            self._child.kill()
            # One that reads from a disk that stalls ends when that read does.
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(0.5)

    def _ask(self, request: dict[str, Any], files: Sequence[int]) -> dict[str, Any]:
        end = self._socket or self._start()
        try:
            socket.send_fds(end, [json.dumps(request).encode()], list(files))
            answer = self._answer(end)
        except TimeoutError:
            why = f"its reader had no answer within {self._patience_s:g} s"
            raise self._broken(why) from None
        except OSError:
            raise self._broken("its reader ended") from None
        if isinstance(refused := answer.get("why"), str):
            raise UnreadError(printable(refused[:200]))
        return answer

    def _answer(self, end: socket.socket) -> dict[str, Any]:
        data = end.recv(ANSWER_BYTES)
        if not data:
            raise self._broken(f"its reader ended{self._how()}")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self._broken("it was answered wrongly")
        return answer

    def _start(self) -> socket.socket:
        if self._child and self._child.poll() is None:
            raise UnreadError("an earlier reader still waits for a disk")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(self._patience_s)
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-s", "-S", "-B", "-m", "foreign.child"],
                env={"PYTHONPATH": MODULES, "LC_ALL": "C.UTF-8"},
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                process_group=0,  # Ctrl-C is not for it
            )
        self._socket = ours
        answer = self._answer(ours)
        if answer.get("ready") is not True:
            raise self._broken(str(answer.get("why"))[:200])
        return ours

    def _how(self) -> str:
        """By which signal or status the child ended."""
        assert self._child
        with suppress(subprocess.TimeoutExpired):
            status = self._child.wait(1)
            return f" with status {status}" if status else ""
        return ""

    def _broken(self, why: str) -> UnreadError:
        self.close()
        return UnreadError(why)


def printable(name: str) -> str:
    """The same without what a terminal would act on."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
