# SPDX-License-Identifier: GPL-2.0-only
"""plain_text: render the events of slow calls as text, for trace -v."""

from __future__ import annotations

import argparse
import errno
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any

from launcher.cgroups import WithCgroups, mounted


class PlainText:
    """A sink that takes event lines and writes each as a line of text."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink = sink
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def write(self, line: bytes) -> None:
        """Write one event, a complete line of JSON, as text."""
        event = json.loads(line)
        text = LINES[event["ev"]](event, self._epoch_ns)
        self._sink.write(_printable(text).encode() + b"\n")

    def flush(self) -> None:
        self._sink.flush()


Sink = WithCgroups | PlainText


@contextmanager
def output(options: argparse.Namespace) -> Iterator[Sink]:
    """Yield the sink for event lines: --output or stdout, as text with -v."""
    if not options.output:
        yield _sink(options, sys.stdout.buffer)
        return
    with options.output.open("wb") as file:
        yield _sink(options, file)


def _sink(options: argparse.Namespace, file: IO[bytes]) -> Sink:
    if options.text:
        return PlainText(file)
    return WithCgroups(file, mounted(), time.monotonic_ns)


def _printable(text: str) -> str:
    """Escape what a terminal would interpret: file names are untrusted text."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _begin(event: dict[str, Any], _: int) -> str:
    stall_ms = event["stall_ns"] / 1e6
    return f"calls of {stall_ms:g} ms and more, {event['engine']} on {event['kernel']}"


def _call(event: dict[str, Any], epoch_ns: int) -> str:
    """Render time, call, file, duration and task; both stacks, innermost first."""
    began_s = (event["t_ns"] + epoch_ns) / 1e9
    clock = datetime.fromtimestamp(began_s).strftime("%H:%M:%S.%f")
    size = "" if event["bytes"] is None else f" {event['bytes']} B"
    size += "" if event["offset"] is None else f" at {event['offset']}"
    return (
        f"{clock} {event['call']}(2) {event['path'] or '?'}{size}"
        f" took {event['dur_ns'] / 1e6:.1f} ms: {_returned(event['ret'])}"
        f"  {event['comm']} {event['pid']}/{event['tid']}"
        f"  kernel: {_stack(event['kstack'])}  user: {_stack(event['ustack'])}"
    )


def _returned(value: int | None) -> str:
    if value is None:
        return "?"
    return errno.errorcode.get(-value, str(value)) if value < 0 else str(value)


def _stack(frames: list[str]) -> str:
    """Join frames to one chain of callers; offsets stay in the JSON."""
    return " < ".join(frame.partition("+")[0] for frame in frames) or "?"


def _lost(event: dict[str, Any], _: int) -> str:
    return f"LOST {event['count']} {event['what']}: {event['why']}"


def _end(event: dict[str, Any], _: int) -> str:
    return f"{event['events']} calls, {event['lost']} lost"


LINES = {"begin": _begin, "write": _call, "lost": _lost, "end": _end}
