# SPDX-License-Identifier: GPL-2.0-only
"""rows: read rows of one kind from the JSON Lines of a client or an injector."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import msgspec.inspect

from writestall.common.windows import Timed
from writestall.events.decode import UNREADABLE
from writestall.events.lines import MAX_LINE_BYTES, Problem, kind_of, lines_of, read
from writestall_base import files
from writestall_base.errors import UserError

# Kinds of lines that one client's record may hold, beside `begin` and `end`.
CLIENT_KINDS = frozenset(("client_write", "pause", "request"))


R = TypeVar("R", bound=Timed)


@dataclass(slots=True)
class Records(Generic[R]):
    """Rows of one kind by start time, and the lines around them that are there."""

    rows: list[R] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    begin: dict[str, object] | None = None
    end: dict[str, object] | None = None


def read_records(path: Path, record: type[R]) -> Records[R]:
    """Reads one kind of record between its `begin` and `end` lines."""
    found: Records[R] = Records()
    info = msgspec.inspect.type_info(record)
    assert isinstance(info, msgspec.inspect.StructType)
    others = {"begin", "end", *CLIENT_KINDS} - {info.tag}

    def on_other(line: bytes) -> bool:
        kind = kind_of(line)
        if kind not in ("begin", "end"):
            return kind in others
        whole = _whole(line)
        if kind == "begin":
            found.begin = whole
        else:
            found.end = whole
        return whole is not None

    decode = msgspec.json.Decoder(record).decode
    found.problems, _ = read(
        path.name,
        lines_of(path),
        lambda _, line: found.rows.append(decode(line)),
        on_other,
    )
    found.rows.sort(key=lambda row: row.t_ns)
    return found


def read_first(path: Path) -> dict[str, object]:
    """A record's `begin` line; empty where no file is there or it begins otherwise."""
    try:
        with files.opened(path) as file:
            line = file.readline(MAX_LINE_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    return (_whole(line) or {}) if kind_of(line) == "begin" else {}


def _whole(line: bytes) -> dict[str, object] | None:
    """All of a line, of which kind_of() reads the kind alone; None: unreadable."""
    try:
        return dict(msgspec.json.decode(line))
    except UNREADABLE:
        return None
