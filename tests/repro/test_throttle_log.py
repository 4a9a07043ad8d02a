# SPDX-License-Identifier: GPL-2.0-only
"""This test will read blk-throttle's log: bios of a cgroup that wait while the disk has
no request."""

from __future__ import annotations

import json
from pathlib import Path

from labrun.setup.throttle_log import rows, save

# As Linux 6.12 and 7.2 print it; a cgroup below the root's own has two levels above.
QUEUED = "[W] bio. bdisp=0 sz=2097152 bps=2097152 iodisp=0 iops=4294967295 queued=0/0"


def line(at_us: int, rest: str, group: str = "/") -> str:
    head = f"          <idle>-0       [001] d.s2.     5.{at_us:06}: 254,16  {group}  "
    return f"{head}{rest}\n"


def message(at_us: int, text: str, group: str = "/") -> str:
    return line(at_us, f"m   N throtl {text}", group)


def times(lines: list[str]) -> list[tuple[str, int, int]]:
    """Cgroup, beginning and end in us after the fifth second."""
    return [
        (str(row["cgroup"]), start, start + int(str(row["dur_ns"])) // 1000)
        for row in rows(["# tracer: blk\n", *lines])
        for start in [(int(str(row["t_ns"])) - 5 * 10**9) // 1000]
    ]


def test_a_bio_waits_from_its_queue_to_the_disks() -> None:
    log = [
        message(100, QUEUED, "/b"),
        message(500, "dispatch nr_queued=0 read=0 write=0"),
        message(700, "bios disp=1"),
        message(701, "bios disp=1"),
    ]
    assert times(log) == [("/b", 100, 701)]


def test_the_last_of_several_bios_ends_it() -> None:
    log = [message(100, QUEUED, "/x/b"), message(200, QUEUED, "/x/b")]
    log += [message(300 + at, "bios disp=2") for at in range(3)]
    assert times(log) == [("/x/b", 100, 302)]


def test_a_request_of_anybody_interrupts_it() -> None:
    log = [
        message(100, QUEUED, "/b"),
        line(200, "D   W 2048 + 8 [kworker/0:1]"),
        line(300, "C   W 2048 + 8 [0]"),
        message(400, "bios disp=1"),
        message(400, "bios disp=1"),
    ]
    assert times(log) == [("/b", 100, 200), ("/b", 300, 400)]


def test_what_never_ended_is_no_row() -> None:
    assert times([message(100, QUEUED, "/b"), message(200, "bios disp=1")]) == []


def test_the_record_says_what_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "throttled.jsonl"
    log = [message(100, QUEUED, "/b")]
    log += [message(200, "bios disp=1"), message(200, "bios disp=1")]
    assert save(log, 3, path) == 1
    first, end = map(json.loads, path.read_text().splitlines())
    assert first["ev"] == "throttled"
    assert end == {"ev": "end", "records": 1, "lost": 3}
