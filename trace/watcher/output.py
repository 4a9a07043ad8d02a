# SPDX-License-Identifier: GPL-2.0-only
"""output: print lines to stdout, or to the journal, without waiting for either.

A terminal, a pipe or a file on the very disk that stalls may be slow. A thread writes;
what it cannot keep up with is counted, and reported when it can again. The first line
that fails is reported to who made the output: nobody may read it any more.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import select
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from watcher.journal import Journal
from writestall_base.steps import describe

MOST_WAITING = 2000
PATIENCE_S = 5.0  # for what is left when the program ends
LOOK_S = 1.0  # how often it is looked whether somebody reads, while nothing is printed
TOO_SLOW = "the output was too slow"
ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6  # syslog(3)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: `time` is printed before it, but for the journal, which has its own."""

    text: str
    priority: int = INFO
    time: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.time} {self.text}" if self.time else self.text

    def as_json(self) -> str:
        """The same as one object, with its fields in lower case."""
        row = {"message": self.text, "priority": self.priority}
        row |= {"time": self.time} if self.time else {}
        return json.dumps(row | {name.lower(): v for name, v in self.fields.items()})


class Output:
    """The thread and its queue; `unprinted` counts the lines that were left out.

    as_json  print lines as JSON
    patient  wait for the output instead: nothing is traced meanwhile
    failed   hears, once and from the thread, why a line could not be written
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        as_json: bool = False,
        patient: bool = False,
        failed: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._journal, self._as_json, self._patient = journal, as_json, patient
        self._waiting: queue.Queue[Entry | None] = queue.Queue(MOST_WAITING)
        self.unprinted = 0
        self.failure: Exception | None = None
        self._failed, self._told, self._why = failed, 0, TOO_SLOW
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        """Print it soon, or count it as left out."""
        if self.unprinted > self._told and not self._waiting.full():
            left_out = self.unprinted - self._told
            text = f"{left_out} lines were not printed: {self._why}"
            self._told = self.unprinted
            self._queue(Entry(text, WARNING))
        self._queue(entry)

    def close(self) -> None:
        """Wait for what is left, for a while."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=PATIENCE_S)
            self._thread.join(PATIENCE_S)
        if self.failure and not self._journal:
            with suppress(ValueError):  # a closed one
                # The interpreter would fail to write what is left in its buffer.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def _queue(self, entry: Entry) -> None:
        try:
            self._waiting.put(entry, self._patient)
        except queue.Full:
            self.unprinted, self._why = self.unprinted + 1, TOO_SLOW

    def _run(self) -> None:
        while entry := self._next():
            try:
                self._write(entry)
            except (OSError, ValueError) as error:  # a closed pipe, a full disk
                self.unprinted, self._why = self.unprinted + 1, describe(error)
                self._fail(error)

    def _next(self) -> Entry | None:
        """The next line to print; meanwhile, look whether somebody reads."""
        while True:
            try:
                return self._waiting.get(timeout=LOOK_S)
            except queue.Empty:
                if not self._journal and not _is_read():
                    self._fail(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))

    def _fail(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error
            self._failed(error)

    def _write(self, entry: Entry) -> None:
        if self._journal:
            self._journal.send(entry.text, entry.priority, entry.fields)
        else:
            text = entry.as_json() if self._as_json else str(entry)
            print(text, file=sys.stdout, flush=True)


def _is_read() -> bool:
    """Whether stdout is no pipe whose reader is gone: poll(2), POLLERR."""
    output = select.poll()
    try:
        output.register(sys.stdout, 0)
    except (ValueError, AttributeError):  # closed: there is nobody to go
        return True
    return not any(found & select.POLLERR for _, found in output.poll(0))
