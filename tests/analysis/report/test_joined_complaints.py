# SPDX-License-Identifier: GPL-2.0-only
"""This test will join complaints of programs to the calls that made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import build
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
MS = build.MS


def line(tid: int | None, at_ms: float, dur_ms: float, what: str = "put") -> str:
    """One request of requests.jsonl."""
    t_ns = build.START_NS + int(at_ms * MS)
    row = {"t_ns": t_ns, "dur_ns": int(dur_ms * MS), "what": what}
    return json.dumps(row | ({} if tid is None else {"tid": tid})) + "\n"


def events(*writes: tuple[int, float, float], **more: Any) -> build.Events:
    """Stalled writes of threads of process 300: tid, start and duration."""
    stream = build.Events()
    for tid, at_ms, dur_ms in writes:
        stream.write(tid, at_ms, dur_ms, dur_ms, pid=300, comm=f"app-{tid}", **more)
    return stream


def explained(
    path: Path, stream: build.Events, name: str, text: str, capsys: Capture
) -> tuple[dict[str, Any], str]:
    """`complaints` of the summary, and what explain prints."""
    clock = {"monotonic_ns": build.START_NS, "realtime_ns": build.START_NS}
    run = build.run_dir(path / "run", stream.end(), clock=clock)
    folder = run / "application/app"
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    assert main(["explain", str(run)]) == 0
    summary = json.loads((run / "summary.json").read_text())
    return summary["complaints"], capsys.readouterr().out


def parts_ms(complaint: dict[str, Any]) -> tuple[float, ...]:
    names = ("own_ns", "meanwhile_ns", "unknown_ns")
    return tuple(complaint[name] / MS for name in names)


def test_a_thread_s_own_call_comes_first(tmp_path: Path, capsys: Capture) -> None:
    stream = events((301, 100, 600), (302, 100, 600))
    found, said = explained(
        tmp_path, stream, "requests.jsonl", line(301, 90, 700), capsys
    )
    assert parts_ms(found) == (600, 0, 100)
    assert found["by_longest"] == {"own": 1}
    assert found["worst"][0]["event"] == 2
    assert "put took 700 ms" in said
    assert "+- 600 ms own write(2) lab/gc.log of app-301/301, 600 ms" in said
    assert "+- 100 ms unknown\n" in said


def test_what_is_left_may_have_waited_for_calls_that_had_ended(
    tmp_path: Path, capsys: Capture
) -> None:
    """One that went on is not what it waited for; nor is one of another program."""
    stream = events((301, 700, 200), (302, 100, 600), (303, 100, 5_000))
    stream.write(900, 100, 750, 750, pid=900, comm="other")
    found, said = explained(
        tmp_path, stream, "requests.jsonl", line(301, 90, 820), capsys
    )
    assert parts_ms(found) == (200, 600, 20)
    assert found["by_longest"] == {"meanwhile": 1}
    assert found["worst"][0]["event"] is None
    words = "+- 600 ms unknown, may have waited for write(2) lab/gc.log of app-302/302"
    assert words in said
    assert "(inferred)" in said


def test_two_holders_at_once_count_once(tmp_path: Path, capsys: Capture) -> None:
    stream = events((301, 900, 60), (302, 100, 400), (303, 300, 400))
    found, _ = explained(
        tmp_path, stream, "requests.jsonl", line(301, 100, 860), capsys
    )
    assert parts_ms(found) == (60, 600, 200)


def test_the_cause_of_a_complaint_without_any_call_is_unknown(
    tmp_path: Path, capsys: Capture
) -> None:
    stream = events((301, 100, 600))
    text = line(301, 100, 600) + line(302, 5_000, 900)
    found, said = explained(tmp_path, stream, "requests.jsonl", text, capsys)
    assert found["by_longest"] == {"own": 1, "unknown": 1}
    assert "60.0 %  unknown\n" in said
    assert "put took 900 ms" in said


def test_short_complaints_are_left_out(tmp_path: Path, capsys: Capture) -> None:
    """A tracer that prints stalls of 50 ms has no call for one of 49."""
    text = line(301, 100, 49) + line(None, 100, 49)
    found, said = explained(tmp_path, events(), "requests.jsonl", text, capsys)
    assert (found["count"], found["unjoined"], found["sum_ns"]) == (0, 0, 0)
    assert "no complaint" in said


def test_requests_of_no_thread_are_counted(tmp_path: Path, capsys: Capture) -> None:
    """They are said first: there is no other word of the application."""
    text = line(None, 100, 10_000) * 46 + line(None, 100, 600)
    found, said = explained(tmp_path, events(), "requests.jsonl", text, capsys)
    assert (found["count"], found["unjoined"], found["sum_ns"]) == (0, 47, 0)
    words = (
        "47 slow requests of app, the longest 10000 ms: none can be joined to a "
        "thread: no tid\n"
    )
    assert said.startswith(words)
    assert said.count(words) == 2
    assert "no complaint" not in said


def test_what_no_tracer_could_see_is_counted_apart(
    tmp_path: Path, capsys: Capture
) -> None:
    """A server may complain while it starts, before the tracer does."""
    text = line(301, -200, 100) + line(301, -50, 100) + line(301, 59_950, 100)
    found, said = explained(tmp_path, events(), "requests.jsonl", text, capsys)
    assert (found["count"], found["untraced"]) == (0, 3)
    assert "3 complaints more when no tracer ran" in said


def test_a_command_that_records_nothing_lacks_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    stream = events((301, 100, 600)).end()
    scenario = {"name": "command", "workload": [{"kind": "command"}]}
    run = build.run_dir(tmp_path / "run", stream, scenario=scenario)
    assert main(["explain", str(run)]) == 0
    assert "writer.hlog" not in capsys.readouterr().out
    other = build.run_dir(tmp_path / "other", stream)
    assert main(["explain", str(other)]) == 0
    assert "writer.hlog: No such file" in capsys.readouterr().out


def test_nobody_waits_for_redis_background_sync(
    tmp_path: Path, capsys: Capture
) -> None:
    stream = build.Events()
    stream.write(301, 1_000, 900, 900, pid=300, comm="bio_aof", call="fdatasync")
    stream.write(300, 4_000, 400, 400, pid=300, comm="redis-server")
    second = build.START_NS // 1_000_000_000
    text = f"command {second + 1} 700\naof-write-alone {second + 4} 400\n"
    found, said = explained(tmp_path, stream, "redis-latency.log", text, capsys)
    by_what = {row["what"]: parts_ms(row) for row in found["worst"]}
    assert by_what == {"command": (0, 0, 700), "aof-write-alone": (400, 0, 0)}
    assert found["unwaited"] == {"bio_aof": {"calls": 1, "stall_ns": 900 * MS}}
    assert "1 stalled call of bio_aof, 900 ms in sum: nobody waits for that" in said


def test_a_postgresql_backend_beside_another_one(
    tmp_path: Path, capsys: Capture
) -> None:
    """The log names the process of the statement; the times are exact to 1 ms."""
    stream = build.Events()
    stream.write(77, 1_000, 600, 600, pid=77, comm="postgres", call="fdatasync")
    # It ends as the statement of 78 begins: the log's clock could not tell.
    stream.write(78, 500, 501, 501, pid=78, comm="postgres", call="fdatasync")
    at = "1970-01-01 00:00:51.610 UTC"
    text = "".join(
        f"{at} [{pid}] LOG:  duration: 610.0 ms  statement: END;\n" for pid in (77, 78)
    )
    found, said = explained(tmp_path, stream, "postgresql.log", text, capsys)
    assert found["by_longest"] == {"own": 1, "meanwhile": 1}
    assert parts_ms(found) == (600, 600, 20)
    assert "END; took 610 ms" in said


def test_calls_that_were_not_chosen_still_made_the_complaint(
    tmp_path: Path, capsys: Capture
) -> None:
    """--call chooses what is explained, not what an application waited for."""
    text = line(301, 90, 620)
    explained(tmp_path, events((301, 100, 600)), "requests.jsonl", text, capsys)
    assert main(["explain", str(tmp_path / "run"), "--call", "openat"]) == 0
    said = capsys.readouterr().out
    assert "1 stalled call left out; explain without --call shows them" in said
    assert "No call of those chosen stalled for 50.0 ms or more" in said
    assert "+- 600 ms own write(2) lab/gc.log of app-301/301, 600 ms" in said
