# SPDX-License-Identifier: GPL-2.0-only
"""output: print lines to stdout, or to the journal, without waiting for either.

A terminal, a pipe or a file on the very disk that stalls may be slow. A thread writes;
what it cannot keep up with is counted, and told when it can again.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from watcher.journal import Journal

MOST_WAITING = 2000
PATIENCE_S = 5.0  # for what is left when the program ends
ERROR, WARNING, NOTICE, INFO = 3, 4, 5, 6  # syslog(3)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: `time` is printed before it, but for the journal, which has its own."""

    text: str
    priority: int = INFO
    time: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.time} {self.text}" if self.time else self.text

    def as_json(self) -> str:
        """The same as one object, with its fields in lower case."""
        told = {"message": self.text, "priority": self.priority}
        told |= {"time": self.time} if self.time else {}
        return json.dumps(told | {name.lower(): v for name, v in self.fields.items()})


class Output:
    """The thread and its queue; `unprinted` counts the lines that were left out.

    as_json  print lines as JSON
    patient  wait for the output instead: nothing is traced meanwhile
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        as_json: bool = False,
        patient: bool = False,
    ) -> None:
        self._journal, self._as_json, self._patient = journal, as_json, patient
        self._waiting: queue.Queue[Entry | None] = queue.Queue(MOST_WAITING)
        self.unprinted = 0
        self._told = 0
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        """Print it soon, or count it as left out."""
        if self.unprinted > self._told and not self._waiting.full():
            left_out = self.unprinted - self._told
            text = f"{left_out} lines were not printed: the output was too slow"
            self._told = self.unprinted
            self._queue(Entry(text, WARNING))
        self._queue(entry)

    def close(self) -> None:
        """Wait for what is left, for a while."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=PATIENCE_S)
            self._thread.join(PATIENCE_S)

    def _queue(self, entry: Entry) -> None:
        try:
            self._waiting.put(entry, self._patient)
        except queue.Full:
            self.unprinted += 1

    def _run(self) -> None:
        while entry := self._waiting.get():
            try:
                self._write(entry)
            except (OSError, ValueError):  # a closed pipe, a full disk
                self.unprinted += 1

    def _write(self, entry: Entry) -> None:
        if self._journal:
            self._journal.send(entry.text, entry.priority, entry.fields)
        else:
            text = entry.as_json() if self._as_json else str(entry)
            print(text, file=sys.stdout, flush=True)
