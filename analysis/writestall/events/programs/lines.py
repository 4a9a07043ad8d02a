# SPDX-License-Identifier: GPL-2.0-only
"""lines: read requests.jsonl, the record that any program can write.

A line: {"t_ns": N, "dur_ns": N, "tid": N, "what": "..."}, CLOCK_MONOTONIC. Without a
`tid` it is a request as a client saw it: no thread is joined to it. `"alone": true`:
the thread served no other request meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from writestall.events.application_clock import Clock, Complaint
from writestall.events.contract import Ns
from writestall.events.decode import UNREADABLE
from writestall.events.lines import Problem
from writestall_base import files


class Line(msgspec.Struct, frozen=True, gc=False):
    """One request."""

    t_ns: Ns
    dur_ns: Ns
    tid: int | None = None
    what: str = "request"
    alone: bool = False


def read(path: Path, _: Clock) -> Iterator[Complaint | Problem]:
    """The requests, fast ones too; a line that is none of them is a problem."""
    decode = msgspec.json.Decoder(Line).decode
    program = path.parent.name
    with files.opened(path) as file:
        for number, text in enumerate(file, 1):
            try:
                line = decode(text)
            except UNREADABLE as error:
                yield Problem(path.name, number, str(error))
                continue
            what = line.what
            noun = what if what.isalpha() else "request"
            yield Complaint(
                *(program, line.t_ns, line.dur_ns, what, line.tid),
                noun=noun,
                alone=line.alone,
            )
