# SPDX-License-Identifier: GPL-2.0-only
"""test_latwriter: check counts, logs and exit status, also after failures."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from clients import count, histograms, hold_still, lines, start, write


def test_every_scheduled_write_is_made_and_counted(
    latwriter: Path, tmp_path: Path
) -> None:
    path = tmp_path / "gc.log"
    slow, _ = write(
        latwriter,
        tmp_path,
        *("--path", path, "--duration-s", 2, "--interval-us", 2000, "--bytes", 100),
    )
    begin, end = slow[0], slow[-1]
    assert begin["ev"] == "begin"
    assert begin["interval_ns"] == 2_000_000
    assert begin["bytes"] == 100
    assert begin["writers"] == 1
    assert end["ev"] == "end"
    assert end["writes"] + end["missed"] == 1000
    assert path.stat().st_size == 100 * end["writes"]
    assert count(tmp_path / "w.hlog") == 1000
    assert count(tmp_path / "s.hlog") == end["writes"]


def test_writes_begin_on_the_schedule_and_never_before(
    latwriter: Path, tmp_path: Path
) -> None:
    slow, _ = write(
        latwriter,
        tmp_path,
        *("--path", tmp_path / "x", "--duration-s", 1, "--interval-us", 10_000),
        *("--slow-us", 0),
    )
    calls = [line for line in slow if line["ev"] == "client_write"]
    assert slow[-1]["writes"] + slow[-1]["missed"] == 100
    assert [call["seq"] for call in calls] == list(range(slow[-1]["writes"]))
    first_ns = slow[0]["t_ns"]
    for call in calls:
        assert call["intended_ns"] == first_ns + call["seq"] * 10_000_000
        assert call["t_ns"] >= call["intended_ns"]
        assert call["offset"] == call["seq"] * 200
        assert call["ret"] == 200
        assert call["call"] == "write"
        assert call["path"] == f"{tmp_path.name}/x"


def test_the_log_holds_one_interval_per_second_and_its_own_maximum(
    latwriter: Path, tmp_path: Path
) -> None:
    write(latwriter, tmp_path, "--path", tmp_path / "x", "--duration-s", 3)
    for name in ("w.hlog", "s.hlog"):
        found = histograms(tmp_path / name)
        assert len(found) == 3
        text = (tmp_path / name).read_text().splitlines()
        rows = [line.split(",") for line in text if not line.startswith(("#", '"'))]
        assert [row[0] for row in rows] == ["0.000", "1.000", "2.000"]
        for row, histogram in zip(rows, found, strict=True):
            assert float(row[2]) == histogram.get_max_value()


def test_a_stall_counts_for_the_writes_it_kept_from_starting(
    latwriter: Path, tmp_path: Path
) -> None:
    writer = start(
        latwriter,
        *("--path", tmp_path / "x", "--duration-s", 3, "--hlog", tmp_path / "w.hlog"),
        *("--hlog-service", tmp_path / "s.hlog", "--slow-log", tmp_path / "w.jsonl"),
        *("--slow-us", 0),
    )
    time.sleep(1)
    held_ms = hold_still(writer, 1) * 1000  # a stall between two calls, on command
    writer.communicate(timeout=60)
    assert writer.returncode == 0
    late = sum(
        item.count_added_in_this_iter_step
        for histogram in histograms(tmp_path / "w.hlog")
        for item in histogram.get_recorded_iterator()
        if item.value_iterated_to > 100_000_000
    )
    # One write per ms; those of the last 100 ms of the stall were less late. A busy
    # machine delays the writer, too, which shows in the record of every call.
    calls = [line for line in lines(tmp_path / "w.jsonl") if "seq" in line]
    ended_ns = [(call["intended_ns"], call["t_ns"] + call["dur_ns"]) for call in calls]
    recorded = sum(end - intended > 100_000_000 for intended, end in ended_ns)
    assert held_ms - 200 <= recorded
    assert abs(late - recorded) <= 2  # a bucket's width
    assert count(tmp_path / "w.hlog") == 3000


def test_each_thread_writes_its_own_file_or_all_write_one(
    latwriter: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    write(latwriter, tmp_path, "--path", folder, "--writers", 3, "--duration-s", 1)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sorted(sizes) == ["writer-0.log", "writer-1.log", "writer-2.log"]
    assert all(size % 200 == 0 and size > 0 for size in sizes.values())
    shared, _ = write(
        latwriter,
        tmp_path,
        *("--path", tmp_path / "one", "--shared-file", "--writers", 3),
        *("--duration-s", 1, "--slow-us", 0),
    )
    calls = [line for line in shared if line["ev"] == "client_write"]
    assert len({call["tid"] for call in calls}) == 3
    offsets = sorted(call["offset"] for call in calls)
    assert offsets == list(range(0, len(calls) * 200, 200))
    assert (tmp_path / "one").stat().st_size == len(calls) * 200


def test_pwrite_stays_in_its_region_and_follows_the_seed(
    latwriter: Path, tmp_path: Path
) -> None:
    offsets = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        slow, _ = write(
            latwriter,
            tmp_path,
            *("--path", tmp_path / name, "--pwrite", 65536, "--bytes", 512),
            *("--duration-s", 1, "--seed", seed, "--slow-us", 0),
        )
        calls = [line for line in slow if line["ev"] == "client_write"]
        offsets.append({call["seq"]: call["offset"] for call in calls})
        assert {call["call"] for call in calls} == {"pwrite64"}
        assert all(call["offset"] % 512 == 0 for call in calls)
        assert (tmp_path / name).stat().st_size <= 65536
    shared = offsets[0].keys() & offsets[1].keys() & offsets[2].keys()
    assert all(offsets[0][seq] == offsets[1][seq] for seq in shared)
    assert any(offsets[0][seq] != offsets[2][seq] for seq in shared)
    assert len(set(offsets[0].values())) > 100


def test_fsync_follows_every_nth_write(latwriter: Path, tmp_path: Path) -> None:
    slow, _ = write(
        latwriter,
        tmp_path,
        *("--path", tmp_path / "x", "--fsync-every", 10, "--interval-us", 10_000),
        *("--duration-s", 1, "--slow-us", 0),
    )
    fsyncs = [line for line in slow if line.get("call") == "fsync"]
    written = slow[-1]["writes"]
    assert written > 10
    assert [fsync["seq"] for fsync in fsyncs] == list(range(9, written, 10))


def test_a_full_file_system_ends_the_run_by_name_with_its_logs(
    latwriter: Path, tiny: Path, tmp_path: Path
) -> None:
    slow, said = write(
        latwriter,
        tmp_path,
        *("--path", tiny / "gc.log", "--bytes", 1000, "--duration-s", 20),
        expect=1,
    )
    assert f"write {tiny}/gc.log: No space left on device, at write 67 of 20000" in said
    end = slow[-1]
    # 65 whole writes, one cut short at the end of the last page, one refused.
    assert (end["writes"], end["short"], end["failed"]) == (67, 1, 1)
    assert [line["ret"] for line in slow if line["ev"] == "client_write"] == [536, -28]
    assert count(tmp_path / "s.hlog") == 67


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_order_with_its_logs(
    latwriter: Path, tmp_path: Path, number: signal.Signals
) -> None:
    writer = start(
        latwriter,
        *("--path", tmp_path / "x", "--duration-s", 60, "--hlog", tmp_path / "w.hlog"),
        *("--slow-log", tmp_path / "w.jsonl"),
    )
    time.sleep(1)
    writer.send_signal(number)
    writer.communicate(timeout=10)
    assert writer.returncode == 128 + number
    end = lines(tmp_path / "w.jsonl")[-1]
    assert end["ev"] == "end"
    assert 500 < end["writes"] < 5000
    assert (tmp_path / "x").stat().st_size == end["writes"] * 200
    assert count(tmp_path / "w.hlog") == end["writes"] + end["missed"]


def test_a_client_that_is_late_itself_says_so(latwriter: Path, tmp_path: Path) -> None:
    logs = ("--slow-log", tmp_path / "w.jsonl")
    schedule = ("--duration-s", 2, "--interval-us", 20_000)
    writer = start(latwriter, "--path", tmp_path / "x", *schedule, *logs)
    while not (tmp_path / "x").exists() or not (tmp_path / "x").stat().st_size:
        time.sleep(0.05)
    hold_still(writer, 0.5)
    writer.communicate(timeout=20)
    late_ns = lines(tmp_path / "w.jsonl")[-1]["late_ns"]
    # Once, not for each write that the pause held up.
    assert 400_000_000 < late_ns < 1_500_000_000


def test_a_slow_call_does_not_make_the_client_late(
    latwriter: Path, tmp_path: Path
) -> None:
    """Writes of 16 MiB, due every 10 us: each waits for the previous one."""
    sizes = ("--bytes", 16 << 20, "--pwrite", 16 << 20, "--interval-us", 10)
    slow, _ = write(
        latwriter, tmp_path, *("--path", tmp_path / "x", "--duration-s", 1), *sizes
    )
    assert slow[-1]["missed"] > 0
    assert slow[-1]["late_ns"] < 200_000_000


def test_a_signal_ends_a_long_pause_between_writes(
    latwriter: Path, tmp_path: Path
) -> None:
    writer = start(
        latwriter,
        *("--path", tmp_path / "x", "--duration-s", 3600, "--interval-us", 10**9),
    )
    time.sleep(0.5)
    writer.send_signal(signal.SIGTERM)
    writer.communicate(timeout=5)
    assert writer.returncode == 128 + signal.SIGTERM


def test_hostile_names_are_valid_json(latwriter: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'quote"\\new\nline'
    folder.mkdir()
    name = os.fsdecode("bad\xff\xc3(ü\x7f".encode("latin-1")) + "日本.log"
    slow, _ = write(
        latwriter,
        tmp_path,
        *("--path", folder / name, "--duration-s", 1, "--interval-us", 10**6),
        *("--slow-us", 0),
    )
    assert slow[1]["path"] == 'quote"\\new\nline/bad\ufffd\ufffd(\ufffd\x7f日本.log'


# Each row: arguments, expected stderr.
BAD = [
    ((), "--path is missing: name a new file or a directory"),
    (("--path", "x", "--writers", "0"), "--writers: '0': want N from 1 to 1024"),
    (("--path", "x", "--writers", "1x"), "--writers: '1x': want N from 1 to 1024"),
    (
        ("--path", "x", "--bytes", "99999999999999999999"),
        "--bytes: '99999999999999999999': want BYTES from 1 to 16777216",
    ),
    (
        ("--path", "x", "--append", "--pwrite", "4096"),
        "--append and --pwrite exclude each other",
    ),
    (
        ("--path", "x", "--pwrite", "100", "--bytes", "200"),
        "--pwrite: a region of 100 bytes holds no write of 200",
    ),
    (("--path", "x", "y"), "'y': no argument is expected here; see latwriter --help"),
    (
        (
            "--path",
            "/",
            "--writers",
            "1000",
            "--interval-us",
            "10",
            "--duration-s",
            "86400",
        ),
        "8640000001000 writes would fill over half of memory with samples;"
        " shorten --duration-s",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_usage_gets_one_line(
    latwriter: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    refused = subprocess.run(
        [latwriter, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert refused.returncode == 2
    assert refused.stderr == f"latwriter: {message}\n"
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_never_touched(latwriter: Path, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("precious")
    refused = subprocess.run(
        [latwriter, "--path", path], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert refused.stderr == f"latwriter: {path}: File exists; name a new one\n"
    assert path.read_text() == "precious"


def test_a_log_that_cannot_be_written_is_an_error(
    latwriter: Path, tmp_path: Path
) -> None:
    failed = subprocess.run(
        [
            latwriter,
            "--path",
            tmp_path / "x",
            "--duration-s",
            "1",
            "--slow-log",
            "/dev/full",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert failed.returncode == 1
    assert "/dev/full: No space left on device" in failed.stderr


def test_help_lists_every_option_the_program_takes(latwriter: Path) -> None:
    shown = subprocess.run(
        [latwriter, "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in (
        "path writers shared-file bytes interval-us duration-s append pwrite"
        " fsync-every slow-us hlog hlog-service slow-log seed"
    ).split():
        assert f"  --{option} " in shown
