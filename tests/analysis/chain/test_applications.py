# SPDX-License-Identifier: GPL-2.0-only
"""This test will match an application's record with the chains, and check bounds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

import build
from writestall.cli.main import main
from writestall.events import rows
from writestall.events.contract import ClientWrite

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]
MS = build.MS
LIMITS = {"chain": [], "stalled_writes_min": 0, "stall_ms_min": 0}


def at(ms: float) -> int:
    return build.START_NS + int(ms * MS)


def pause(
    seq: int, at_ms: float, reach_ms: float, log_ms: float, tid: int = 300, **more: int
) -> Row:
    reach, log, release = int(reach_ms * MS), int(log_ms * MS), MS // 10
    row: Row = {"ev": "pause", "seq": seq, "t_ns": at(at_ms)}
    row |= {"dur_ns": reach + log + release, "tid": tid, "reach_ns": reach}
    row |= {"log_ns": log, "release_ns": release, "threads": 8, "shortest_ns": log}
    return row | more


def call(seq: int, at_ms: float, dur_ms: float, tid: int = 300) -> Row:
    row: Row = {"ev": "client_write", "seq": seq, "intended_ns": at(at_ms)}
    row |= {"t_ns": at(at_ms), "dur_ns": int(dur_ms * MS), "tid": tid, "call": "write"}
    return row | {"path": "lab/gc.log", "offset": 0, "bytes": 200, "ret": 200}


def request(
    seq: int,
    tid: int,
    at_ms: float,
    queue_ms: float,
    lock_ms: float,
    write_ms: float,
    partition: int = 0,
) -> Row:
    queue, lock, write = (int(ms * MS) for ms in (queue_ms, lock_ms, write_ms))
    row: Row = {"ev": "request", "seq": seq, "t_ns": at(at_ms), "tid": tid}
    row |= {"dur_ns": queue + lock + write, "partition": partition}
    row |= {"queue_ns": queue, "lock_ns": lock, "write_ns": write}
    return row | {"path": f"orders-{partition}/0.log", "bytes": 200, "ret": 200}


def begin(program: str) -> Row:
    row = {"ev": "begin", "t_ns": build.START_NS, "program": program}
    return row | {"slow_ns": 50 * MS}


END = {"ev": "end", "t_ns": build.START_NS, "writes": 2, "slow": 1}


def hlog(path: Path, *ms: float) -> None:
    """An HdrHistogram log of one interval."""
    histogram = HdrHistogram(1, 24 * 3600 * 10**9, 3)
    for value in ms:
        histogram.record_value(int(value * MS))
    path.write_text(f"0.0,1.0,{max(ms)},{histogram.encode().decode()}\n")


def run_of(
    folder: Path, program: str, rows: list[Row], events: build.Events, **expect: Any
) -> Path:
    scenario = {"name": program, "expect": LIMITS | expect}
    client = [begin(program), *rows, END]
    run = build.run_dir(folder, events, client=client, scenario=scenario)
    hlog(run / "writer.hlog", 0.2, 0.3, 1700)
    hlog(run / "writer-service.hlog", 0.1, 0.1, 1000)
    if program == "safepoint":
        hlog(run / "writer-pause.hlog", 1, 1, 1004)
    return run


def stopped(folder: Path, **expect: Any) -> Path:
    """A pause of 1004 ms around the cascade's write of 1000 ms, and a short one."""
    rows = [
        pause(0, -3, 3, 1000.5),
        call(0, 0, 1000.4),
        pause(30, 1500, 60, 0.2, shortest_ns=1),
    ]
    return run_of(folder, "safepoint", rows, build.cascade(), **expect)


def summary(run: Path, capsys: Capture) -> Row:
    assert main(["explain", str(run), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((run / "summary.json").read_text())
    assert printed["summary"] == kept
    return dict(kept["application"])


def test_a_pause_is_put_beside_the_write_inside_it(
    tmp_path: Path, capsys: Capture
) -> None:
    """By thread and time: the write lies inside the pause, and its chain ends at the
    disk."""
    found = summary(stopped(tmp_path / "run"), capsys)
    longest = found["longest_pause"]
    assert longest["dur_ns"] == 1003 * MS + MS // 2 + MS // 10
    assert longest["write_ns"] == longest["covered_ns"] == int(1000.4 * MS)
    assert (longest["threads"], longest["event"]) == (8, 8)
    assert found["pause"]["count"] == 3
    assert found["root"] == "vdb slow for jbd2"


def test_the_terminal_shows_the_pause_its_parts_and_its_root(
    tmp_path: Path, capsys: Capture
) -> None:
    """The parts add up to the pause, in whole ms."""
    assert main(["explain", str(stopped(tmp_path / "run"))]) == 0
    out = capsys.readouterr().out
    tail = out[out.index("the application:") :].splitlines()
    assert tail[1].startswith("pauses 3   p50 1.00 ms")
    assert tail[3].split("  ")[0] == "pause of 1004 ms"
    assert "8 threads stopped, each for 1000 ms or more" in tail[3]
    assert tail[4:6] == [
        "+- 3 ms until the last thread stopped",
        "+- 1001 ms write(2) lab/gc.log, 99.6 % of the pause",
    ]
    assert "root: vdb slow for jbd2" in tail[6]
    assert "units of work 3   p50" in out


def test_the_page_shows_the_same(tmp_path: Path) -> None:
    """The log of pauses is not read for other workloads."""
    run = stopped(tmp_path / "run")
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text()
    section = page.partition("What the application saw")[2].partition("</section>")[0]
    assert "<summary>pause of 1004 ms " in section and "99.6 % of the pause" in section
    assert "writer-pause.hlog" not in page
    assert "<dt>units of work</dt><dd>3</dd>" in page
    cascade = build.run_dir(tmp_path / "cascade", build.cascade())
    assert main(["report", str(cascade)]) == 0
    assert "What the application" not in (cascade / "report.html").read_text()


@pytest.mark.parametrize(
    ("tid", "early_ms"), [(301, 0), (300, -2000)], ids=["another thread", "long ago"]
)
def test_a_write_of_another_thread_or_time_is_not_its_cause(
    tmp_path: Path, capsys: Capture, tid: int, early_ms: float
) -> None:
    """A slow write of an asynchronous log stops no thread."""
    rows = [pause(0, 5000, 60, 0.2), call(0, 5000 + early_ms, 1000, tid)]
    run = run_of(tmp_path / "run", "safepoint", rows, build.cascade())
    longest = summary(run, capsys)["longest_pause"]
    assert (longest["write_ns"], longest["covered_ns"]) == (None, 0)
    assert longest["event"] is None
    assert main(["explain", str(run)]) == 0
    tail = capsys.readouterr().out.partition("\npause of")[2]
    assert "write(2) to the log\n" in tail and "root: " not in tail.split("units")[0]


def convoy(folder: Path, **expect: Any) -> Path:
    """Request 1 writes for 1000 ms; 2 waits for its lock; 3 for a thread."""
    rows = [
        request(1, 300, -1, 1, 0, 1000),
        call(1, 0, 1000),
        request(2, 301, 10, 1, 989, 0.3),
        request(3, 302, 20, 979, 0, 0.2, partition=1),
        request(4, 302, 21, 978, 0, 0.2, partition=1),
        # A holder in another partition, and one in this partition at another time.
        request(5, 303, 0, 0, 0, 999, partition=2),
        request(6, 303, 2000, 0, 0, 700),
    ]
    return run_of(folder, "broker", rows, build.cascade(), **expect)


def longest_part(row: Row) -> str:
    parts = {part: row[f"{part}_ns"] for part in ("queue", "lock", "write")}
    return max(parts, key=parts.__getitem__)


def test_a_lock_wait_names_the_request_that_held_it(
    tmp_path: Path, capsys: Capture
) -> None:
    """A wait for a thread names the request whose write occupied a thread for most of
    it.

    The chain of that write's thread continues to the disk.
    """
    found = summary(convoy(tmp_path / "run"), capsys)
    assert found["slow_requests"] == {"write": 3, "queue": 2, "lock": 1}
    by_part = {longest_part(row): row for row in found["worst"]}
    locked = by_part["lock"]
    assert (locked["seq"], locked["holder_seq"], locked["holder_tid"]) == (2, 1, 300)
    assert locked["holder_write_ns"] == 1000 * MS
    assert locked["event"] == by_part["write"]["event"] == 8
    queued = by_part["queue"]
    assert (queued["seq"], queued["ahead_seq"], queued["ahead_tid"]) == (3, 1, 300)
    assert (queued["holder_seq"], queued["event"]) == (None, 8)
    for row in found["worst"]:
        parts = row["queue_ns"] + row["lock_ns"] + row["write_ns"]
        assert parts == row["dur_ns"]


def test_the_terminal_shows_requests_beside_writes(
    tmp_path: Path, capsys: Capture
) -> None:
    """Percentiles of both, the largest parts, and the worst of each kind."""
    assert main(["explain", str(convoy(tmp_path / "run"))]) == 0
    out = capsys.readouterr().out
    tail = out[out.index("the application:") :]
    assert "\nrequests 3   p50" in tail and "\nwrite(2) 3   p50" in tail
    assert "slow requests 6 (50.0 ms and more), by what took most:" in tail
    assert "50.0 %  write: its own write(2)" in tail
    held = "lock  held by request 1, thread 300: its write(2) took 1000 ms"
    assert f"+- 989 ms {held}" in tail
    ahead = "queue  behind request 1, thread 300: its write(2) took 1000 ms"
    assert f"+- 979 ms {ahead} (inferred)" in tail
    assert tail.count("root: vdb slow for jbd2") == 2
    # Who was ahead in the queue is known from times in common.
    assert tail.count("root (inferred): vdb slow for jbd2") == 1


@pytest.mark.parametrize(
    ("expect", "miss"),
    [
        ({"pause_ms_min": 1000, "threads_stopped": 8}, None),
        ({"pause_ms_min": 1100}, "longest pause, ms: 1003.6, want 1100 at least"),
        ({"logging_ms_max": 1001}, None),
        (
            {"logging_ms_max": 500},
            "longest logging in a pause, ms: 1000.5, want 500 at most",
        ),
        ({"threads_stopped": 9}, "threads stopped in it: 8, want 9 at least"),
    ],
)
def test_expect_holds_a_pause_to_its_bounds(
    tmp_path: Path, capsys: Capture, expect: dict[str, int], miss: str | None
) -> None:
    """Each violation is one line, and the status is 1."""
    status = main(["expect", str(stopped(tmp_path / "run", **expect))])
    out = capsys.readouterr().out.splitlines()
    assert (status, out) == ((1, [miss]) if miss else (0, out))


@pytest.mark.parametrize(
    ("expect", "miss"),
    [
        ({"request_ms_min": 1000}, None),
        ({"request_ms_min": 9000}, "slowest request, ms: "),
        ({"writes_p999_below_us": 900}, "p99.9 of write(2), us: "),
    ],
)
def test_expect_holds_requests_to_their_bounds(
    tmp_path: Path, capsys: Capture, expect: dict[str, int], miss: str | None
) -> None:
    """Each violation is one line, and the status is 1."""
    status = main(["expect", str(convoy(tmp_path / "run", **expect))])
    out = capsys.readouterr().out
    assert status == bool(miss) and (miss or "as expected") in out


def test_expect_of_an_application_that_left_no_record(
    tmp_path: Path, capsys: Capture
) -> None:
    """Without a record there are no pauses and no requests."""
    scenario = {"name": "x", "expect": LIMITS | {"pause_ms_min": 1}}
    run = build.run_dir(tmp_path / "run", build.cascade(), scenario=scenario)
    assert main(["expect", str(run)]) == 1
    assert "no record of an application, so no pause_ms_min" in capsys.readouterr().out


def test_a_broken_line_of_the_record_is_reported(
    tmp_path: Path, capsys: Capture
) -> None:
    """The other lines are read."""
    run = stopped(tmp_path / "run")
    with (run / "writer.jsonl").open("a") as file:
        file.write('{"ev":"pause","t_ns":"soon"}\n')
    assert main(["explain", str(run)]) == 0
    out = capsys.readouterr().out
    assert "note: writer.jsonl:6: " in out and "pause of 1004 ms" in out


def test_a_first_line_that_is_no_text_is_reported(tmp_path: Path) -> None:
    """Its kind can be read, but not all of it."""
    run = stopped(tmp_path / "run")
    record = run / "writer.jsonl"
    first, *rest = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b'{"\x80":1,' + first[1:] + b"".join(rest))
    assert main(["explain", str(run)]) == 0
    read = rows.read_records(record, ClientWrite)
    assert read.begin is None
    assert [problem.line for problem in read.problems] == [1]


def variants_of(folder: Path) -> Path:
    for name, make in (("gc-log", stopped), ("gc-log-xfs", stopped)):
        run = make(folder / name)
        manifest = json.loads((run / "manifest.json").read_text())
        if name.endswith("xfs"):
            manifest["scenario"]["variant"] = "xfs"
            manifest["status"] = "failed"
        manifest["clock"] = {"monotonic_ns": len(name), "realtime_ns": 0}
        (run / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_variants_stand_in_one_table(tmp_path: Path, capsys: Capture) -> None:
    """In the order of the runs; a failed run is marked."""
    folder = variants_of(tmp_path / "runs")
    assert main(["compare-variants", str(folder)]) == 0
    head, plain, xfs = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["variant", "pauses", "p50", "max", "most"]
    assert plain.split()[:2] == ["plain", "3"]
    assert "1004 ms" in plain and "vdb slow for jbd2" in plain
    assert xfs.startswith("xfs (failed)")
    rows = json.loads((folder / "variants.json").read_text())
    assert [row["variant"] for row in rows] == ["plain", "xfs"]
    assert main(["compare-variants", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows


def test_variants_of_nothing(tmp_path: Path, capsys: Capture) -> None:
    """A folder without runs is bad input."""
    assert main(["compare-variants", str(tmp_path)]) == 2
    assert "no run below it" in capsys.readouterr().err


def rounds_of(folder: Path) -> Path:
    runs = (("plain", True), ("cap", False), ("cap", False), ("plain", True))
    for number, (variant, stalled) in enumerate(runs):
        scenario = {"name": "x"}
        scenario |= {"variant": variant} if variant != "plain" else {}
        events = build.cascade() if stalled else build.Events().end()
        clock = {"monotonic_ns": number, "realtime_ns": 0}
        more: dict[str, Any] = {"scenario": scenario, "clock": clock}
        build.run_dir(folder / str(number), events, status="complete", **more)
    return folder


def test_rounds_need_numpy_and_say_so(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of which each is one of its kind do not."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "writestall.compare.statistics", raising=False)
    assert main(["compare-variants", str(rounds_of(tmp_path / "runs"))]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'writestall[compare]'" in line
    assert main(["compare-variants", str(variants_of(tmp_path / "single"))]) == 0


def test_rounds_of_a_client_without_a_record_are_one_line(
    tmp_path: Path, capsys: Capture
) -> None:
    """Their means, with intervals; a run in which nothing stalled is one too."""
    assert main(["compare-variants", str(rounds_of(tmp_path / "runs"))]) == 0
    head, plain, cap = capsys.readouterr().out.splitlines()
    assert head.split()[-3:] == ["they", "waited", "for"] and "stalled" in head
    assert plain.startswith("plain (2 runs)") and "1 (1 to 1)" in plain
    assert cap.startswith("cap (2 runs)") and cap.endswith("nothing stalled")


def test_stalls_of_another_disk_alone_are_none_of_the_runs(
    tmp_path: Path, capsys: Capture
) -> None:
    """If the disk of a file is known; otherwise no stall is left out."""
    for kind, count in (("xfs", 0), ("btrfs", 1)):
        more: dict[str, Any] = {"filesystem": {"type": kind}}
        more["device"] = {"dev": "254:99"}
        run = build.run_dir(tmp_path / kind, build.cascade(), **more)
        assert main(["explain", str(run), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["summary"]["stalls"] == count
