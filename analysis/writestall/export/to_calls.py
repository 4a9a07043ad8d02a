# SPDX-License-Identifier: GPL-2.0-only
"""to_calls: write the calls that a recording kept, for a replay or as a table.

docs/replay.md has the bytes of the file; repro/replay reads it.
"""

from __future__ import annotations

import csv
import io

from writestall.chain.answers import Answer
from writestall.events.contract import File
from writestall.events.kept_calls import (
    BLOCK,
    FAILED,
    FILE,
    HEAD,
    MOST_BLOCKS,
    ROW,
    TOOK_NS,
    WAKE,
    Call,
)
from writestall.events.run_directory import END_OF_TIME_NS
from writestall.export import to_disk_series
from writestall.verdict.replayed_calls import kept

MAGIC = b"wscalls1"
KINDS = {"regular": 1, "folder": 2}
MOST_FILES = 65535
COLUMNS = (
    "t_ns",
    "dur_ns",
    "tid",
    "operation",
    "file",
    "offset",
    "bytes",
    "flags",
    "failed",
)


def packed(answer: Answer) -> bytes:
    """The file: a head, the files by number, and the calls by time since the start."""
    start_ns, files = to_disk_series.start_ns(answer), _files(answer)
    last = max(files, default=0)
    none = File(t_ns=0, number=0)
    table = [_file(files.get(number, none)) for number in range(1, last + 1)]
    end_ns = answer.run.get("window", "end_ns")
    last_ns = end_ns if isinstance(end_ns, int) else END_OF_TIME_NS
    begun = (_from(call, start_ns) for call in kept(answer) if call.t_ns <= last_ns)
    found = sorted(call for call in begun if call.t_ns >= start_ns)
    rows = [
        ROW.pack(call.t_ns - start_ns, *call[1:])
        for call in found
        if call.file in files or call.op == WAKE
    ]
    dur_ns = max((call.t_ns + call.dur_ns for call in found), default=start_ns)
    lost = sum(event.lost or 0 for event in answer.stream.calls)
    left = sum(event.left_out or 0 for event in answer.stream.calls)
    head = HEAD.pack(MAGIC, last, len(rows), dur_ns - start_ns, lost, left)
    return head + b"".join(table) + b"".join(rows)


def _file(file: File) -> bytes:
    """Its row; of one that has none, of kind 0."""
    allocated = 0 if file.allocated is None else 1 + -(-file.allocated // BLOCK)
    kind = KINDS.get(file.kind or "", 0)
    return FILE.pack(file.bytes or 0, kind, min(allocated, MOST_BLOCKS))


def _from(call: Call, start_ns: int) -> Call:
    """A call that is under way at the start begins there."""
    before = -((call.t_ns - start_ns) // TOOK_NS)
    if 0 < before < call.took:
        return call._replace(t_ns=start_ns, took=call.took - before)
    return call


def table(answer: Answer) -> str:
    """The same calls, one in a line, files by number."""
    start_ns, out = to_disk_series.start_ns(answer), io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for call in sorted(kept(answer)):
        flags, failed = call.flags & ~FAILED, int(bool(call.flags & FAILED))
        what = (call.operation, call.file, call.offset, call.bytes, flags, failed)
        rows.writerow((call.t_ns - start_ns, call.dur_ns, call.tid, *what))
    return out.getvalue()


def _files(answer: Answer) -> dict[int, File]:
    """The files of the disk that is replayed, where one is on it; else all."""
    files = {
        file.number: file
        for file in answer.stream.files
        if 1 <= file.number <= MOST_FILES
    }
    for dev in to_disk_series.devices(answer):
        on_it = {number: file for number, file in files.items() if file.dev == dev}
        if on_it:
            return on_it
    return files
