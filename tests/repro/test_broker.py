# SPDX-License-Identifier: GPL-2.0-only
"""test_broker: check the records and the exit status of broker, also after failures."""

from __future__ import annotations

import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
from clients import (
    Row,
    count,
    end_by,
    hold_still,
    keeps_the_contract,
    lines,
    longest_ns,
    of_kind,
    refused,
    slow_pipe,
    start,
    write,
)

MS = 1_000_000


def run(program: Path, folder: Path, *arguments: object) -> list[Row]:
    """Two seconds, every request as a line."""
    rows, _ = write(
        program,
        folder,
        *("--path", folder / "orders", "--duration-s", 2, "--slow-us", 0, *arguments),
    )
    return rows


def test_every_request_adds_up_to_the_ns(broker: Path, tmp_path: Path) -> None:
    rows = run(broker, tmp_path, "--interval-us", 2000)
    begin, end = rows[0], rows[-1]
    requests = of_kind(rows, "request")
    keeps_the_contract(requests)
    assert (begin["program"], begin["partitions"], begin["threads"]) == ("broker", 4, 8)
    assert len(requests) == end["writes"]
    assert end["writes"] + end["missed"] == 1000
    assert count(tmp_path / "w.hlog") == 1000
    assert count(tmp_path / "s.hlog") == end["writes"]
    for request in requests:
        parts = request["queue_ns"], request["lock_ns"], request["write_ns"]
        assert all(part >= 0 for part in parts)
        assert sum(parts) == request["dur_ns"]
        assert request["t_ns"] == begin["t_ns"] + request["seq"] * 2 * MS


def test_threads_that_are_late_themselves_say_so(broker: Path, tmp_path: Path) -> None:
    """All eight stop for half a second. The backlog is not counted as their own delay,
    and neither is a request that a thread had started: that was a slow write."""
    logs = ("--slow-log", tmp_path / "w.jsonl")
    schedule = ("--duration-s", 3, "--interval-us", 10_000)
    client = start(broker, "--path", tmp_path / "orders", *schedule, *logs)
    time.sleep(0.7)
    hold_still(client, 0.5)
    client.communicate(timeout=20)
    rows = lines(tmp_path / "w.jsonl")
    requests = of_kind(rows, "request")
    begun = [row for row in requests if row["dur_ns"] - row["queue_ns"] > 400 * MS]
    assert len(begun) < 8
    assert (8 - len(begun)) * 400 * MS < rows[-1]["late_ns"] < 8 * 1500 * MS


def test_waiting_for_a_lock_is_not_being_late(broker: Path, tmp_path: Path) -> None:
    """Writes of 16 MiB, due every 10 us: each waits for the previous ones."""
    rows = run(
        broker,
        tmp_path,
        *("--bytes", 16 << 20, "--interval-us", 10, "--slow-us", 1000),
        *("--duration-s", 1, "--partitions", 1, "--threads", 2),
    )
    assert rows[-1]["missed"] > 0
    assert rows[-1]["late_ns"] < 200 * MS


def test_each_partition_has_a_folder_and_all_its_bytes(
    broker: Path, tmp_path: Path
) -> None:
    rows = run(broker, tmp_path, "--partitions", 3, "--bytes", 100)
    for number in range(3):
        own = [row for row in of_kind(rows, "request") if row["partition"] == number]
        assert {row["path"] for row in own} == {f"orders-{number}/00000000.log"}
        size = (tmp_path / f"orders-{number}/00000000.log").stat().st_size
        assert size == 100 * len(own) > 0


def test_the_choice_of_partitions_follows_the_seed(
    broker: Path, tmp_path: Path
) -> None:
    chosen = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        (tmp_path / name).mkdir()
        rows = run(broker, tmp_path / name, "--seed", seed)
        chosen.append(
            {row["seq"]: row["partition"] for row in of_kind(rows, "request")}
        )
    shared = chosen[0].keys() & chosen[1].keys() & chosen[2].keys()
    assert all(chosen[0][seq] == chosen[1][seq] for seq in shared)
    assert any(chosen[0][seq] != chosen[2][seq] for seq in shared)
    assert set(chosen[0].values()) == {0, 1, 2, 3}


def test_a_request_holds_its_partitions_lock_alone(
    broker: Path, tmp_path: Path
) -> None:
    rows = run(broker, tmp_path, "--interval-us", 200, "--partitions", 2)
    for number in (0, 1):
        held = sorted(
            (
                row["t_ns"] + row["queue_ns"] + row["lock_ns"],
                row["t_ns"] + row["dur_ns"],
            )
            for row in of_kind(rows, "request")
            if row["partition"] == number
        )
        assert all(end <= after for (_, end), (after, _) in pairwise(held))


def test_one_slow_write_convoys_the_others(broker: Path, tmp_path: Path) -> None:
    """A partition on a pipe that is read late: first its own requests wait, then every
    thread waits for its lock, then all requests wait in the queue."""
    (tmp_path / "orders-0").mkdir()
    _, reader = slow_pipe(tmp_path / "orders-0/00000000.log", 1.5)
    rows = run(broker, tmp_path, "--interval-us", 1000, "--bytes", 16384)
    reader.join()
    requests = of_kind(rows, "request")
    slow = [row for row in requests if row["dur_ns"] > 500 * MS]
    held = [row for row in slow if row["write_ns"] > 500 * MS]
    locked = [row for row in slow if row["lock_ns"] > 500 * MS]
    queued = [row for row in slow if row["queue_ns"] > 500 * MS]
    assert len(held) == 1
    assert 1 <= len(locked) <= 7, "every other thread, at most"
    assert {row["partition"] for row in locked + held} == {0}
    assert len(queued) > 300
    assert {row["partition"] for row in queued} == {0, 1, 2, 3}
    (holder,) = held
    for row in locked:
        locked_ns = row["t_ns"] + row["queue_ns"] + row["lock_ns"]
        assert locked_ns >= holder["t_ns"] + holder["dur_ns"]
    (call,) = (row for row in of_kind(rows, "client_write") if row["dur_ns"] > 500 * MS)
    assert (call["tid"], call["dur_ns"]) == (holder["tid"], holder["write_ns"])
    assert longest_ns(tmp_path / "w.hlog") > 500 * MS


def test_a_full_file_system_ends_the_run_by_name_with_its_logs(
    broker: Path, tiny: Path, tmp_path: Path
) -> None:
    rows, said = write(
        broker,
        tmp_path,
        *("--path", tiny / "orders", "--partitions", 1, "--threads", 1),
        *("--bytes", 10_000, "--duration-s", 20),
        expect=1,
    )
    path = tiny / "orders-0/00000000.log"
    assert f"write {path}: No space left on device, at write 8 of 20000" in said
    end = rows[-1]
    # 6 whole writes, one cut short at the end of the last page, one refused.
    assert (end["writes"], end["short"], end["failed"]) == (8, 1, 1)
    assert [row["ret"] for row in of_kind(rows, "client_write")] == [5536, -28]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order_with_its_logs(
    broker: Path, tmp_path: Path, number: signal.Signals
) -> None:
    end_by(
        number,
        tmp_path / "orders-0/00000000.log",
        broker,
        *("--path", tmp_path / "orders", "--slow-us", 0),
        *("--hlog", tmp_path / "w.hlog", "--slow-log", tmp_path / "w.jsonl"),
    )
    end = lines(tmp_path / "w.jsonl")[-1]
    assert end["ev"] == "end"
    assert 10 <= end["writes"] < 60_000
    assert count(tmp_path / "w.hlog") == end["writes"] + end["missed"]


# Each row: arguments, expected stderr.
BAD = [
    ((), "--path is missing: name a new file or a directory"),
    (("--path", "x", "--partitions", "0"), "--partitions: '0': want N from 1 to 1024"),
    (("--path", "x", "y"), "'y': no argument is expected here; see broker --help"),
    (
        ("--path", "/x/y/z"),
        "/x/y/z-0: No such file or directory",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_usage_gets_one_line(
    broker: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = subprocess.run(
        [broker, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode in (1, 2)
    assert done.stderr == f"broker: {message}\n"
    assert list(tmp_path.iterdir()) == []


def test_an_existing_log_is_never_touched(broker: Path, tmp_path: Path) -> None:
    path = tmp_path / "orders-0/00000000.log"
    path.parent.mkdir()
    path.write_text("precious")
    said = refused(broker, "--path", tmp_path / "orders")
    assert said == f"broker: {path}: File exists; name a new one\n"
    assert path.read_text() == "precious"


def test_help_lists_every_option(broker: Path) -> None:
    done = subprocess.run([broker, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for option in (
        "path partitions threads interval-us bytes duration-s slow-us hlog"
        " hlog-service slow-log seed"
    ).split():
        assert f"  --{option} " in done.stdout
