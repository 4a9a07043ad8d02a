# SPDX-License-Identifier: GPL-2.0-only
"""This test will read what programs print of their own slow moments."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from writestall.events.application_clock import Complaint
from writestall.events.application_complaints import Complaints, read_complaints
from writestall.events.programs.etcd import duration_ns
from writestall.events.run_directory import RunDir

S, MS = 1_000_000_000, 1_000_000
# The run began at this time of day, 7 s after the machine.
BEGAN = datetime(2026, 11, 25, 18, 0, 0, tzinfo=UTC)
MONOTONIC_NS = 7 * S
CLOCK = {
    "monotonic_ns": MONOTONIC_NS,
    "realtime_ns": int(BEGAN.timestamp()) * S,
}


def complaints(
    tmp_path: Path, name: str, text: str, clock: dict[str, int] | None = CLOCK
) -> Complaints:
    """What a log of that name says, in a run with these clocks."""
    folder = tmp_path / "application/app"
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    return read_complaints(RunDir(tmp_path, {"clock": clock} if clock else {}))


POSTGRESQL = """\
2026-11-25 18:00:01.000 UTC [41] LOG:  database system is ready to accept connections
2026-11-25 18:00:03.250 UTC [77] LOG:  duration: 1204.500 ms  statement: END;
2026-11-25 18:00:04.000 UTC [77] LOG:  duration: 60.25 ms  execute <unnamed>: UPDATE x
2026-11-25 18:00:05.500 UTC [44] LOG:  checkpoint complete: wrote 44 buffers (1.1%), \
wrote 2 SLRU buffers; write=4.218 s, sync=0.600 s, total=5.1 s; sync files=9
2026-11-25 18:00:06.000 UTC [78] ERROR:  duration: 1.0 ms  statement: none of ours
"""


def test_postgresql_s_statements_and_checkpoints(tmp_path: Path) -> None:
    found = complaints(tmp_path, "postgresql.log", POSTGRESQL)
    assert [(row.what, row.tid, row.dur_ns, row.end_ns) for row in found.rows] == [
        ("END;", 77, 1_204_500_000, MONOTONIC_NS + 3_250 * MS),
        ("UPDATE x", 77, 60_250_000, MONOTONIC_NS + 4_000 * MS),
        ("checkpoint: sync", 44, 600 * MS, MONOTONIC_NS + 5_500 * MS),
    ]
    assert {row.program for row in found.rows} == {"postgresql"}
    assert found.comms == {"postgres"}


ETCD = """\
{"level":"info","ts":"2026-11-25T18:00:01.0Z","msg":"raft.node elected leader"}
{"level":"warn","ts":"2026-11-25T18:00:03.5Z","caller":"wal/wal.go:834",\
"msg":"slow fdatasync","took":"1.201s","expected-duration":"1s"}
{"level":"warn","ts":"2026-11-25T18:00:03.6Z","msg":"apply request took too long",\
"took":"105.5ms","expected-duration":"100ms","request":"header:<ID:1>"}
{"level":"info","ts":"2026-11-25T18:00:03.6Z","msg":"no duration","took":7}
not JSON, "took":"1s"
"""


def test_etcd_s_slow_syncs_and_requests(tmp_path: Path) -> None:
    found = complaints(tmp_path, "etcd.log", ETCD)
    assert [
        (row.what, row.tid, row.comm, row.dur_ns, row.end_ns) for row in found.rows
    ] == [
        ("slow fdatasync", None, "etcd", 1_201 * MS, MONOTONIC_NS + 3_500 * MS),
        (
            *("apply request took too long", None, "etcd"),
            *(105_500_000, MONOTONIC_NS + 3_600 * MS),
        ),
    ]
    assert not found.problems


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1.5s", 1_500 * MS),
        ("1m2.5s", 62_500 * MS),
        ("1h0m0s", 3_600 * S),
        ("105.5ms", 105_500_000),
        ("12\u00b5s", 12_000),
        ("7ns", 7),
    ],
)
def test_go_s_durations(text: str, ns: int) -> None:
    assert duration_ns(text) == ns


def test_redis_latency_samples(tmp_path: Path) -> None:
    at = CLOCK["realtime_ns"] // S + 3
    text = f"aof-write-pending-fsync {at} 420\nhello\naof-write {at} 420\n"
    found = complaints(tmp_path, "redis-latency.log", text)
    (row,) = found.rows
    assert (row.what, row.comm, row.dur_ns) == (
        *("aof-write-pending-fsync", "redis-server"),
        420 * MS,
    )
    # Its end is somewhere in that second.
    assert row.end_ns == MONOTONIC_NS + 3 * S
    assert row.slack_ns == S
    assert [str(problem) for problem in found.problems] == [
        "redis-latency.log:2: want EVENT SECONDS MS, got 'hello\\n'"
    ]
    assert "bio_aof" in found.unwaited


MARIADB = f"""\
{CLOCK["realtime_ns"] // 1000 + 3_000_500}\t400250\t212\tUPDATE account SET sum = 1
{CLOCK["realtime_ns"] // 1000 + 4_000_000}\t60000\t\tINSERT INTO account VALUES (1)
400250\tUPDATE account
"""


def test_mariadb_s_slow_statements(tmp_path: Path) -> None:
    found = complaints(tmp_path, "mariadb-statements.tsv", MARIADB)
    assert [
        (row.what, row.tid, row.t_ns, row.dur_ns, row.alone) for row in found.rows
    ] == [
        (
            *("UPDATE account SET sum = 1", 212),
            *(MONOTONIC_NS + 3 * S + 500_000, 400_250_000, True),
        ),
        # Its connection was closed before the thread was asked for.
        (
            *("INSERT INTO account VALUES (1)", None),
            *(MONOTONIC_NS + 4 * S, 60 * MS, False),
        ),
    ]
    assert [str(problem) for problem in found.problems] == [
        "mariadb-statements.tsv:3: want US, US, TID and STATEMENT with tabs between,"
        " got '400250\\tUPDATE account\\n'"
    ]


JVM = """\
[2920641855900ns][1839] GC(3) Metaspace: 9759K(9984K)->9759K(9984K)
[2920667406615ns][1839] Safepoint "GenCollectForAllocation", Time since last: 399 ns, \
Reaching safepoint: 4486 ns, Cleanup: 63836 ns, At safepoint: 26909956 ns, \
Total: 26978278 ns
[2920724123477ns][info][1840][safepoint] Safepoint "ICBufferFull", Total: 467392 ns
"""


def test_a_jvm_s_safepoints(tmp_path: Path) -> None:
    found = complaints(tmp_path, "jvm-safepoint.log", JVM, clock=None)
    assert [(row.what, row.tid, row.dur_ns, row.end_ns) for row in found.rows] == [
        ("safepoint GenCollectForAllocation", 1839, 26_978_278, 2_920_667_406_615),
        ("safepoint ICBufferFull", 1840, 467_392, 2_920_724_123_477),
    ]


def test_the_line_that_any_program_can_write(tmp_path: Path) -> None:
    text = (
        '{"t_ns": 8000000000, "dur_ns": 1000000, "tid": 5, "what": "put"}\n'
        '{"t_ns": 9000000000, "dur_ns": 2000000, "intended_ns": 1, "what": "get"}\n'
        '{"t_ns": -1, "dur_ns": 2000000, "tid": 5, "what": "put"}\n'
    )
    found = complaints(tmp_path, "requests.jsonl", text, clock=None)
    # A client's request has no thread: it counts for latencies alone.
    assert found.rows == [Complaint("app", 8 * S, MS, "put", 5, noun="put")]
    assert [problem.line for problem in found.problems] == [3]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("postgresql.log", POSTGRESQL),
        ("etcd.log", ETCD),
        ("mariadb-statements.tsv", MARIADB),
        ("redis-latency.log", "x 1 1\n"),
    ],
)
def test_without_the_run_s_clocks_a_log_is_named(
    name: str, text: str, tmp_path: Path
) -> None:
    found = complaints(tmp_path, name, text, clock=None)
    assert not found.rows
    assert [str(problem) for problem in found.problems] == [
        f"{name}:0: no clock in manifest.json to read its times by"
    ]


def test_other_files_of_a_command_are_no_complaints(tmp_path: Path) -> None:
    found = complaints(tmp_path, "notes.log", "took 5 s\n")
    assert (found.rows, found.logs) == ([], [])


SLOW = "2026-11-25 18:00:03.250 UTC [77] LOG:  duration: 1.5 ms  statement: END;"
SLOW_SYNC = '{"ts":"2026-11-25T18:00:01Z","msg":"x","took":"2s"}'
LONG = "9" * 5_000
SAFEPOINT = '[9ns][3] Safepoint "G1", Total: 1 ns'


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("postgresql.log", SLOW.replace("11-25", "99-99")),
        ("postgresql.log", SLOW.replace("1.5", "1.5.1")),
        ("postgresql.log", SLOW.replace("1.5", LONG)),
        ("postgresql.log", SLOW.replace("77", LONG)),
        ("etcd.log", SLOW_SYNC.replace("2s", "1..2s")),
        ("etcd.log", SLOW_SYNC.replace("2s", f"{LONG}s")),
        ("etcd.log", SLOW_SYNC.replace("01Z", "01")),
        ("jvm-safepoint.log", SAFEPOINT.replace("9ns", f"{LONG}ns")),
        ("jvm-safepoint.log", SAFEPOINT.replace("1 ns", f"{LONG} ns")),
        ("redis-latency.log", "aof-fsync-always 9999999999999 1"),
        ("redis-latency.log", "aof-fsync-always 1764093600 -1"),
        ("mariadb-statements.tsv", "99999999999999999\t1\t1\tSELECT"),
        ("requests.jsonl", '{"t_ns": 1, "dur_ns": -1}'),
    ],
    ids=lambda text: text[:60],
)
def test_a_line_with_what_no_program_writes_is_a_problem(
    name: str, line: str, tmp_path: Path
) -> None:
    found = complaints(tmp_path, name, f"{line}\n")
    assert not found.rows
    assert [problem.line for problem in found.problems] == [1]


@pytest.mark.parametrize("line", ["x", "x y 1", "x 1 y", "x 1 1 1"])
def test_a_sample_of_another_form_is_told_its_form(line: str, tmp_path: Path) -> None:
    (problem,) = complaints(tmp_path, "redis-latency.log", f"{line}\n").problems
    assert problem.text == f"want EVENT SECONDS MS, got '{line}\\n'"
