# SPDX-License-Identifier: GPL-2.0-only
"""events: replace the names in a tracer's lines.

A text of a field that is not listed is replaced, and a line that is no event is left
out: what a later tracer adds gets out only once somebody has looked at it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from writestall.events.calls import GROUPS
from writestall.events.kept_calls import packed_rows
from writestall.export.redacted.names import Names, library

CALLS = {name for group in GROUPS.values() for name in group}
# What the tracer says of itself and of the kernel: no text of a user's.
OWN = ("ev", "engine", "engine_version", "script", "kernel", "what", "why", "function")
PHASES = {"running", "locking", "flushing", "logging", "finishing"}
CHOICES = {
    "lock": {"mutex", "semaphore", "rwsem_read", "rwsem_write", "futex"},
    "state": {"D", "S"},
    "holder": {"owner", "reader", "last_holder"},
    "call": CALLS | {"io_submit", "io_uring_enter", "page_fault"},
    "op": {"read", "write", "flush", "discard", "zeroes", "other"},
    "waker_ctx": {"task", "softirq", "hardirq", "nmi"},
    "kind": {"regular", "folder"},
    **dict.fromkeys(("phase", "waker_phase"), PHASES),
}
KERNEL_FRAME = re.compile(r"[\w.$]+(?:\+0x[0-9a-f]+)?(?: \[?[\w-]+\]?)?|0x[0-9a-f]+")
USER_FRAME = re.compile(r"(.*?)(\+0x[0-9a-f]+)?(?: \[(.*)\])?", re.DOTALL)
INTERPRETER = re.compile(r"_PyRuntime\+0x[0-9a-f]+(?= \[)")
ADDRESS = re.compile(r"0x[0-9a-f]+")
FORMS = {
    "dev": re.compile(r"\d+:\d+"),
    "lock_at": ADDRESS,
    "io_max": re.compile(r"(?:\d+:\d+(?: [rw](?:bps|iops)=(?:max|\d+))+\n?)+"),
}


# Lists of words and numbers of the tracer's own.
LISTS = {
    "flags": re.compile("preflush|fua|meta"),
    "latencies": re.compile(r"\d+:\d+"),
    "depths": re.compile(r"\d+:\d+:\d+"),
    "gaps": re.compile(r"\d+:\d+"),
}


def redacted(line: bytes, names: Names) -> bytes | None:
    """The line with tokens for names; None for one that is no event."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not isinstance(event.get("ev"), str):
        return None
    # the path of a cgroup is one of its events' alone
    field = "cgroup" if event["ev"] == "cgroup" else "path"
    fields = {
        key: _value(field if key == "path" else key, value, names)
        for key, value in event.items()
    }
    if event["ev"] == "calls" and _are_calls(event):
        fields["rows"] = event["rows"]
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"


def _are_calls(event: dict[str, Any]) -> bool:
    """Whether the rows are what their count says: numbers, and nothing behind them."""
    try:
        packed_rows(event["rows"], event["count"])
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _value(key: str, value: Any, names: Names) -> Any:
    if isinstance(value, (int, float)) or value is None:
        return value
    if isinstance(value, str):
        return _text(key, value, names)
    if key in LISTS and isinstance(value, list):
        return [one for one in value if LISTS[key].fullmatch(str(one))]
    frame = _FRAMES.get(key)
    if frame and isinstance(value, list):
        return [frame(str(one), names) for one in value]
    return None


def _text(key: str, text: str, names: Names) -> str:
    if key in OWN or text in CHOICES.get(key, ()):
        return text
    if key.endswith("comm"):
        return names.comm(text)
    if key.endswith("cgroup"):
        return names.cgroup(text)
    if key in FORMS and FORMS[key].fullmatch(text):
        return text
    if key == "lock_in":
        return _variable(text, names)
    return names.path(text)


def _kernel_frame(frame: str, names: Names) -> str:
    return frame if KERNEL_FRAME.fullmatch(frame) else names.symbol(frame)


def _user_frame(frame: str, names: Names) -> str:
    if ADDRESS.fullmatch(frame):
        return frame
    found = USER_FRAME.fullmatch(frame)
    assert found  # each part may be missing, and the first be anything
    symbol, offset, file = found.groups("")
    if library(file):
        return frame if KERNEL_FRAME.fullmatch(symbol) else names.symbol(frame)
    place = f" [{names.word(file)}]" if file else ""
    plain = symbol if ADDRESS.fullmatch(symbol) else names.symbol(symbol)
    return f"{plain}{offset}{place}"


def _variable(text: str, names: Names) -> str:
    """That of an interpreter is no text of a user's; its lock is explained by it."""
    found = INTERPRETER.match(text)
    return f"{found[0]} [python]" if found else _user_frame(text, names)


_FRAMES: dict[str, Callable[[str, Names], str]] = {
    "kstack": _kernel_frame,
    "waker_kstack": _kernel_frame,
    "waker_longest_kstack": _kernel_frame,
    "ustack": _user_frame,
}
