# SPDX-License-Identifier: GPL-2.0-only
"""This test will split requests of a broker, and compare them with its JVM's record."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import build
from writestall.cli.main import main

MS = build.MS
HANDLERS = (301, 302)


def at(ms: float) -> str:
    """A time of day of the run, whose clocks are the same."""
    seconds = (build.START_NS + ms * MS) / 1e9
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def completed(tid: int, end_ms: float, queue_ms: float, local_ms: float) -> str:
    """A request that this thread took, in the broker's log."""
    connection = f"c{tid}-{end_ms}"
    row = {
        "requestHeader": {"requestApiKeyName": "PRODUCE"},
        "connection": connection,
        "totalTimeMs": queue_ms + local_ms + 5,
        "requestQueueTimeMs": queue_ms,
        "localTimeMs": local_ms,
        "remoteTimeMs": 0,
    }
    return (
        f"{at(end_ms)} [handler-{tid}] TRACE kafka.server.KafkaRequestHandler - "
        f"handling request Request(connectionId={connection}, x)\n"
        f"{at(end_ms)} [network] DEBUG kafka.request.logger - "
        f"Completed request:{json.dumps(row)}\n"
    )


def monitor(tid: int, owner: int, start_ms: float, dur_ms: float) -> dict[str, Any]:
    """A wait for a monitor, in the JVM's recording."""
    values = {
        "startTime": at(start_ms),
        "duration": f"PT{dur_ms / 1000}S",
        "eventThread": {"osThreadId": tid},
        "previousOwner": {"osThreadId": owner},
    }
    return {"type": "jdk.JavaMonitorEnter", "values": values}


def write(tid: int, start_ms: float, dur_ms: float) -> dict[str, Any]:
    """A slow write, in the JVM's recording."""
    values = {
        "startTime": at(start_ms),
        "duration": f"PT{dur_ms / 1000}S",
        "eventThread": {"osThreadId": tid},
        "path": "x",
    }
    return {"type": "jdk.FileWrite", "values": values}


MAYBE = "unknown, may have waited for write(2) lab/gc.log of data-plane-kafk/301"


def explained(
    path: Path,
    log: str,
    recorded: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    more: Path | None = None,
    *,
    waits: bool = False,
) -> tuple[dict[str, Any], str]:
    """`complaints` of a run in which thread 301 wrote for 600 ms, at 100 ms; `more` is
    a folder with other logs. `waits`: the interruptible sleeps of the process are
    recorded."""
    stream, comm = build.Events(), "data-plane-kafk"
    if waits:
        waker = (302, comm), "futex_wakes"
        stream.block(301, 50, 20, "futex", *waker, comm=comm, state="S", pid=300)
        stream.block(
            *(301, 100, 600, "own_io", (0, "swapper/0"), "completion"),
            comm=comm,
            ctx="hardirq",
            pid=300,
        )
    stream.write(301, 100, 600, 600, pid=300, comm=comm)
    clock = {"monotonic_ns": build.START_NS, "realtime_ns": build.START_NS}
    run = build.run_dir(path / "run", stream.end(), clock=clock)
    folder = run / "application/kafka"
    folder.parent.mkdir()
    if more:
        shutil.copytree(more, folder)
    else:
        folder.mkdir()
    (folder / "kafka.log").write_text(log)
    threads = [f'"handler-{tid}" #1 [{tid}] daemon\n' for tid in HANDLERS]
    (folder / "jvm-threads.txt").write_text("".join(threads))
    said = json.dumps({"recording": {"events": recorded}})
    (folder / "jvm-recording.json").write_text(said)
    assert main(["explain", str(run)]) == 0
    summary = json.loads((run / "summary.json").read_text())
    return summary["complaints"], capsys.readouterr().out


def test_write_queue_and_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The thread's call from before it took a request is not the request's own."""
    log = completed(301, 705, 0, 600)  # its own write
    log += completed(302, 715, 0, 590)  # the lock, which 301 held
    log += completed(301, 720, 600, 10)  # the queue: 301 was busy with its write
    recorded = [write(301, 100, 600), monitor(302, 301, 115, 590)]
    found, said = explained(tmp_path, log, recorded, capsys)
    stages = found["by_stage"]
    assert stages["queue"]["own_ns"] == 0
    assert stages["queue"]["meanwhile_ns"] == pytest.approx(600 * MS, abs=10 * MS)
    assert stages["local"]["own_ns"] == 600 * MS
    assert stages["local"]["meanwhile_ns"] == pytest.approx(590 * MS, abs=10 * MS)
    assert stages["send"]["unknown_ns"] == 15 * MS
    assert found["sum_ns"] == sum(
        ns for parts in stages.values() for ns in parts.values()
    )
    assert "ms write: own write(2) lab/gc.log of data-plane-kafk/301, 600 ms" in said
    assert f"ms local: {MAYBE}" in said
    assert f"ms queue: {MAYBE}" in said
    assert (
        "flight recorder: 1 of 1 slow file operations are calls listed here; of 1 wait"
        " for a monitor, 1 for a task that the request may have waited for" in said
    )


def test_the_time_in_the_queue_is_that_of_the_thread_that_took_the_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = completed(301, 720, 600, 10)
    found, said = explained(tmp_path, log, [], capsys, waits=True)
    queue = found["by_stage"]["queue"]
    assert queue["own_ns"] == queue["meanwhile_ns"] == 0
    assert queue["others_ns"] == pytest.approx(595 * MS, abs=6 * MS)
    assert "queue: waited for write(2) lab/gc.log of data-plane-kafk/301" in said


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        # 303 held it, which made no call.
        ([monitor(302, 303, 115, 590)], "of 1 wait for a monitor, 0 for"),
        # 303 had waited for 301 before.
        (
            [monitor(302, 303, 115, 590), monitor(303, 301, 110, 580)],
            "of 1 wait for a monitor, 1 for",
        ),
        # A file operation that no tracer saw.
        ([write(302, 100, 600)], "0 of 1 slow file operations"),
    ],
)
def test_a_second_witness_can_disagree(
    recorded: list[dict[str, Any]],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = completed(302, 715, 0, 590)
    _, said = explained(tmp_path, log, recorded, capsys)
    assert message in said


def test_threads_have_their_whole_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = build.Events()
    stream.write(301, 100, 600, 600, pid=300, comm="data-plane-kafk")
    stream.write(302, 900, 600, 600, pid=300, comm="another-program")
    run = build.run_dir(tmp_path / "run", stream.end())
    folder = run / "application/kafka"
    folder.mkdir(parents=True)
    threads = [f'"data-plane-kafka-handler-{tid}" #1 [{tid}]\n' for tid in HANDLERS]
    (folder / "jvm-threads.txt").write_text("".join(threads))
    (folder / "kafka.log").write_text("")
    assert main(["explain", str(run)]) == 0
    said = capsys.readouterr().out
    assert "took 600 ms" in said
    assert "  data-plane-kafka-handler-301/301\n" in said
    # The tid is that of another program's thread by now.
    assert "  another-program/302\n" in said


def test_a_request_that_a_safepoint_stopped_waited_for_no_lock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end_ns = build.START_NS + 705 * MS
    pause = f'[{end_ns}ns][301] Safepoint "G1", Total: {605 * MS} ns, Threads: 9\n'
    folder = tmp_path / "jvm"
    folder.mkdir()
    (folder / "jvm-safepoint.log").write_text(pause)
    found, said = explained(tmp_path, completed(302, 715, 0, 590), [], capsys, folder)
    assert found["by_program"]["jvm"]["own_ns"] == 600 * MS
    assert f"ms safepoint: {MAYBE}" in said
    assert "by stages of requests: safepoint " in said
