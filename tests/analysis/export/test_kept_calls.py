# SPDX-License-Identifier: GPL-2.0-only
"""This test will pack calls as the compiled tracer does, and export them: all are
there, by time, on files of the disk that is replayed; damaged ones are refused."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path

import pytest

from made_calls import event, packed
from writestall.cli.main import main
from writestall.events import kept_calls
from writestall.events.kept_calls import MOST_ROWS, ROW, Call
from writestall.export.redacted.events import redacted
from writestall.export.redacted.names import Names

WRITE, FSYNC, MS = 2, 4, 1_000_000
CALLS = [
    Call(5 * MS, 0, 1000, 7, 200, 1, WRITE, 1),
    Call(9 * MS, 0, 4_000_000, 8, 0, 1, FSYNC, 0),
    Call(7 * MS, 200, 2000, 7, 200, 2, WRITE, 0),
    Call(1 * MS, 0, 10, 7, 1, 1, WRITE, 0),  # before the recording began
    Call(100 * MS, 0, 10, 7, 1, 1, WRITE, 0),  # after its end
]


def file(number: int, dev: str) -> dict[str, object]:
    what = {"dev": dev, "ino": 9 + number, "bytes": 4096 * number, "kind": "regular"}
    if number > 1:
        what["allocated"] = 8193
    return {"ev": "file", "t_ns": 1, "number": number} | what


def run_of(folder: Path, *events: dict[str, object]) -> Path:
    """A recording with a slow bio of 254:16."""
    io = {"ev": "io", "t_ns": 6 * MS, "dur_ns": 90 * MS, "tid": 1, "pid": 1}
    io |= {"comm": "a", "dev": "254:16", "op": "write", "flags": [], "sector": 1}
    io |= {"bytes": 4096, "kstack": []}
    begin = {"ev": "begin", "t_ns": 1, "engine": "core", "engine_version": "1"}
    begin |= {"script": "stalled_writes", "kernel": "6.12", "floor_ns": 1}
    lines = [begin | {"stall_ns": 1}, io, *events]
    (folder / "events").mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "events/core.jsonl").write_text(text)
    manifest = {"format": 1, "status": "complete", "recorded": {"stall_ns": 50 * MS}}
    manifest["window"] = {"start_ns": 2 * MS, "end_ns": 99 * MS}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def exported(run: Path, name: str) -> bytes:
    target = run.parent / name
    assert main(["export", str(run), "--to", name, "-o", str(target)]) == 0
    return target.read_bytes()


def test_calls_come_out_by_time(tmp_path: Path) -> None:
    files = file(1, "254:16"), file(2, "254:16")
    run = run_of(tmp_path / "run", *files, event(CALLS[:2]), event(CALLS[2:]))
    content = exported(run, "calls")
    magic, count, calls, dur_ns, lost, left = kept_calls.HEAD.unpack_from(content)
    assert (magic, count, calls, lost, left) == (b"wscalls1", 2, 3, 2, 4)
    assert dur_ns == 7 * MS + 4_000_000 * 64
    at = kept_calls.HEAD.size
    assert kept_calls.FILE.unpack_from(content, at + 16) == (8192, 1, 4)
    found = struct.Struct("<qqIiIHBB").iter_unpack(content[at + 32 :])
    rows = [Call(*row) for row in found]
    assert [row.t_ns for row in rows] == [3 * MS, 5 * MS, 7 * MS]
    assert [row.file for row in rows] == [1, 2, 1]


def test_a_call_under_way_at_the_start_begins_there(tmp_path: Path) -> None:
    early = Call(1 * MS, 0, 2 * MS // 64, 7, 0, 1, FSYNC, 0)
    run = run_of(tmp_path / "run", file(1, "254:16"), event([early]))
    content = exported(run, "calls")
    kept = Call(*ROW.unpack_from(content, kept_calls.HEAD.size + kept_calls.FILE.size))
    assert (kept.t_ns, kept.dur_ns) == (0, 1 * MS)


def test_files_of_another_disk_are_left_out(tmp_path: Path) -> None:
    files = file(1, "254:16"), file(2, "8:1")
    run = run_of(tmp_path / "run", *files, event(CALLS))
    content = exported(run, "calls")
    assert kept_calls.HEAD.unpack_from(content)[1:3] == (1, 2)


def test_a_table_has_a_line_for_each(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", file(1, "254:16"), event(CALLS))
    lines = exported(run, "calls-csv").decode().splitlines()
    assert lines[0].startswith("t_ns,dur_ns,tid,operation")
    assert lines[2] == "3000000,64000,7,write,1,0,200,1,0"
    assert lines[4] == "7000000,256000000,8,fsync,1,0,0,0,0"


def test_damaged_calls_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = event(CALLS) | {"count": 3}
    run = run_of(tmp_path / "run", damaged)
    assert main(["export", str(run), "--to", "calls-csv"]) == 2
    assert "damaged" in capsys.readouterr().err


def test_a_run_without_calls_has_none(tmp_path: Path) -> None:
    content = exported(run_of(tmp_path / "run"), "calls")
    assert kept_calls.HEAD.unpack(content)[1:] == (0, 0, 0, 0, 0)


def test_a_copy_without_names_has_the_same_calls() -> None:
    line = json.dumps(event(CALLS)).encode()
    told = redacted(line, Names())
    assert told is not None and json.loads(told) == event(CALLS)
    known = redacted(json.dumps(file(1, "8:1")).encode(), Names())
    assert known is not None and json.loads(known) == file(1, "8:1")


@pytest.mark.parametrize(
    "rows", ["QXZJ", "A", packed(CALLS) + "QXZJ", packed(CALLS * 500)]
)
def test_what_are_no_calls_is_not_kept_in_it(rows: str) -> None:
    line = json.dumps(event(CALLS) | {"rows": rows}).encode()
    told = redacted(line, Names())
    assert told is not None and json.loads(told)["rows"] not in (None, rows)


def test_no_event_unpacks_to_more_than_it_says() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(1 << 24))).decode()
    for count in (0, 4, MOST_ROWS, MOST_ROWS + 1):
        with pytest.raises(ValueError):
            kept_calls.packed_rows(bomb, count)
