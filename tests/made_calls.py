# SPDX-License-Identifier: GPL-2.0-only
"""made_calls: make a `calls` event as the compiled tracer does, and a file of calls as
`export --to calls`; run repro/replay."""

from __future__ import annotations

import base64
import json
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support import PROJECT
from writestall.events.kept_calls import (
    FILE,
    HEAD,
    OPERATIONS,
    ROW,
    TOOK_NS,
    WAKE,
    Call,
)
from writestall.export.to_calls import MAGIC

MS = 1_000_000
REGULAR, FOLDER = 1, 2
Row = tuple[int, int, int, int, int, int, int, int]


def row(
    at_ms: float, tid: int, what: str, file: int, offset: int = 0, size: int = 0,
    took_ms: float = 0.1, flags: int = 0,
) -> Row:  # fmt: skip
    """A call; times in ms since the start."""
    op = OPERATIONS.index(what) + 2
    took = round(took_ms * MS / TOOK_NS)
    return round(at_ms * MS), offset, took, tid, size, file, op, flags


def packed(calls: list[Call]) -> str:
    """The rows of an event, as bpf/core/output/kept_calls.c packs them."""
    rows = b"".join(ROW.pack(*call) for call in calls)
    planes = b"".join(rows[byte :: ROW.size] for byte in range(ROW.size))
    return base64.b64encode(zlib.compress(planes)).decode()


def event(calls: list[Call]) -> dict[str, object]:
    """A `calls` event."""
    wakes = sum(call.op == WAKE for call in calls)
    counts = {"count": len(calls), "lost": 1, "left_out": 2, "wakes": wakes}
    return {"ev": "calls", "t_ns": calls[0].t_ns} | counts | {"rows": packed(calls)}


def content(files: Sequence[tuple[int, ...]], rows: list[Row]) -> bytes:
    """The file: size, kind and perhaps blocks of each file, then the calls by time."""
    head = HEAD.pack(MAGIC, len(files), len(rows), 0, 0, 0)
    table = b"".join(FILE.pack(*file, *[0] * (3 - len(file))) for file in files)
    return head + table + b"".join(ROW.pack(*one) for one in sorted(rows))


def built(folder: Path, *flags: str) -> Path:
    """The program, compiled on this host."""
    source, program = PROJECT / "repro", folder / "replay"
    client = [source / f"client/{name}.c" for name in ("client", "jsonl")]
    files = [*sorted((source / "replay").glob("*.c")), *client]
    words = ["-D_GNU_SOURCE", "-std=c11", "-g", "-Wall", "-Werror", "-pthread"]
    command = ["gcc", *words, *flags, f"-I{source}", "-o", str(program)]
    subprocess.run([*command, *map(str, files)], check=True)
    return program


def replay(program: Path, calls: bytes, folder: Path) -> dict[str, Any]:
    """Make the files and the calls; return the report."""
    given, place = folder / "calls.bin", folder / "place"
    given.write_bytes(calls)
    place.mkdir()
    subprocess.run([program, "--prepare", given, place], check=True, timeout=60)
    report, requests = folder / "report.json", folder / "requests.jsonl"
    words = ["--report", str(report), "--requests", str(requests)]
    words += [str(given), str(place)]
    subprocess.run([str(program), *words], check=True, timeout=60)
    return dict(json.loads(report.read_text()))
