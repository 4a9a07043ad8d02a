# SPDX-License-Identifier: GPL-2.0-only
"""This test will read a Kafka broker's request log and its JVM's own records."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from writestall.events.application_clock import Stage
from writestall.events.application_complaints import Complaints, read_complaints
from writestall.events.programs.jfr import duration_ns
from writestall.events.programs.jvm import names
from writestall.events.run_directory import RunDir

S, MS = 1_000_000_000, 1_000_000
BEGAN = datetime(2026, 11, 25, 18, 0, 0, tzinfo=UTC)
CLOCK = {"monotonic_ns": 7 * S, "realtime_ns": int(BEGAN.timestamp()) * S}
HANDLER = "data-plane-kafka-request-handler-1"
THREADS = f"""\
2026-11-25 18:00:20
Full thread dump OpenJDK 64-Bit Server VM (25+36-Debian-1 mixed mode):

"main" #3 [236] prio=5 os_prio=0 cpu=900.1ms elapsed=9.9s tid=0x7f nid=236 waiting
"{HANDLER}" #52 [312] daemon prio=5 os_prio=0 cpu=1ms tid=0x7f nid=312 runnable
   java.lang.Thread.State: RUNNABLE
"VM Thread" os_prio=0 cpu=61.36ms elapsed=9.9s tid=0x7f nid=0xf5 runnable
"""


def request(kind: str, total_ms: float, queue_ms: float, local_ms: float) -> str:
    """The JSON of a request that was completed."""
    row = {
        "requestHeader": {"requestApiKey": 0, "requestApiKeyName": kind},
        "connection": "127.0.0.1:9092-127.0.0.1:48088-1-0",
        "totalTimeMs": total_ms,
        "requestQueueTimeMs": queue_ms,
        "localTimeMs": local_ms,
        "remoteTimeMs": 0.0,
        "throttleTimeMs": 0,
    }
    return json.dumps(row, separators=(",", ":"))


def taken(thread: str) -> str:
    where = "connectionId=127.0.0.1:9092-127.0.0.1:48088-1-0"
    return (
        f"2026-11-25T18:00:02.000Z [{thread}] TRACE kafka.server.KafkaRequestHandler - "
        "[Kafka Request Handler 1 on Broker 1] Kafka request handler 1 on broker 1 "
        f"handling request Request(processor=1, {where}, session=x, buffer=null)\n"
    )


def done(json_text: str) -> str:
    return (
        "2026-11-25T18:00:03.250Z [data-plane-kafka-network-thread-1-P-0] DEBUG "
        f"kafka.request.logger - Completed request:{json_text}\n"
    )


ROLLED = (
    f"2026-11-25T18:00:03.100Z [{HANDLER}] INFO "
    "org.apache.kafka.storage.internals.log.LocalLog - [LocalLog partition=orders-3, "
    "dir=/lab/data/orders-3] Rolled new log segment at offset 119 in 612 ms.\n"
)


def read(tmp_path: Path, clock: bool = True, **files: str) -> Complaints:
    """What a command's logs say; `kafka_log` is kafka.log."""
    folder = tmp_path / "application/kafka"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("_", ".").replace("9", "-")).write_text(text)
    return read_complaints(RunDir(tmp_path, {"clock": CLOCK} if clock else {}))


def test_a_request_has_its_stages_and_the_thread_that_took_it(tmp_path: Path) -> None:
    log = taken("other") + taken(HANDLER) + done(request("PRODUCE", 1100, 400.5, 695))
    found = read(tmp_path, kafka_log=log, jvm9threads_txt=THREADS)
    (row,) = found.rows
    assert (row.what, row.tid, row.dur_ns) == ("PRODUCE", 312, 1_100 * MS)
    assert row.end_ns == 7 * S + 3_250 * MS
    assert row.stages == (
        Stage("queue", 400_500_000, worked=False, queued=True),
        Stage("local", 695 * MS),
        Stage("remote", 0, worked=False),
        Stage("send", 4_500_000, worked=False),
    )
    assert not found.problems


def test_a_roll_is_a_row_of_its_own_and_a_fetch_that_waits_is_none(
    tmp_path: Path,
) -> None:
    log = "any other line\n" + ROLLED + done(request("FETCH", 500, 0, 1))
    found = read(tmp_path, kafka_log=log, jvm9threads_txt=THREADS)
    (row,) = found.rows
    said = (row.program, row.what, row.tid, row.dur_ns)
    assert said == ("kafka roll", "segment roll of orders-3", 312, 612 * MS)
    assert row.end_ns == 7 * S + 3_100 * MS


def test_without_the_list_of_threads_a_request_has_none(tmp_path: Path) -> None:
    log = taken(HANDLER) + done(request("PRODUCE", 1, 0, 1))
    assert [row.tid for row in read(tmp_path, kafka_log=log).rows] == [None]


def test_a_line_that_is_cut_is_named(tmp_path: Path) -> None:
    log = done(request("PRODUCE", 1, 0, 1).replace('"localTimeMs"', '"local"'))
    (problem,) = read(tmp_path, kafka_log=log).problems
    assert str(problem).startswith("kafka.log:1: ")


def test_without_the_run_s_clocks_both_are_named(tmp_path: Path) -> None:
    log, said = done(request("PRODUCE", 1, 0, 1)), recording()
    found = read(tmp_path, clock=False, kafka_log=log, jvm9recording_json=said)
    assert (found.rows, found.recorded) == ([], [])
    assert [problem.file for problem in found.problems] == [
        "jvm-recording.json",
        "kafka.log",
    ]


def test_threads_by_their_whole_names(tmp_path: Path) -> None:
    (tmp_path / "jvm-threads.txt").write_text(THREADS)
    assert names(tmp_path) == {236: "main", 312: HANDLER, 0xF5: "VM Thread"}


def recording() -> str:
    """Two events, as `jfr print --json` prints them."""
    common = {"startTime": "2026-11-25T18:00:02.5Z", "stackTrace": None}
    thread = {"osName": "one", "osThreadId": 312, "javaName": "one", "group": {}}
    owner = {"osName": "two", "osThreadId": 311, "javaName": "two"}
    wait = {"eventThread": thread, "previousOwner": owner, "duration": "PT0.6S"}
    force = {"eventThread": owner, "path": "/lab/x", "duration": "PT1M1.25S"}
    events = [
        {"type": "jdk.FileForce", "values": common | force},
        {"type": "jdk.JavaMonitorEnter", "values": common | wait},
    ]
    return json.dumps({"recording": {"events": events}})


def test_a_flight_recorder_s_monitors_and_files(tmp_path: Path) -> None:
    found = read(tmp_path, jvm9recording_json=recording())
    assert [
        (row.tid, row.monitor, row.owner_tid, row.t_ns, row.dur_ns)
        for row in found.recorded
    ] == [
        (311, False, None, 9_500 * MS, 61_250 * MS),
        (312, True, 311, 9_500 * MS, 600 * MS),
    ]
    # A recording alone is no log of complaints.
    assert found.logs == []


@pytest.mark.parametrize(
    ("text", "ns"), [("PT0.361S", 361 * MS), ("PT2H", 7_200 * S), ("PT3M", 180 * S)]
)
def test_durations_of_java(text: str, ns: int) -> None:
    assert duration_ns(text) == ns


def test_a_recording_that_is_none_is_named(tmp_path: Path) -> None:
    (problem,) = read(tmp_path, jvm9recording_json="{}").problems
    assert problem.file == "jvm-recording.json"


@pytest.mark.parametrize(
    ("before", "after"),
    [('"totalTimeMs":', '"totalTimeMs":1e308,"was":'), ("Z [", " [")],
)
def test_a_line_with_what_no_broker_writes_is_a_problem(
    before: str, after: str, tmp_path: Path
) -> None:
    log = done(request("PRODUCE", 1, 0, 1))
    found = read(tmp_path, kafka_log=log.replace(before, after))
    assert not found.rows
    assert [problem.line for problem in found.problems] == [1]
