# SPDX-License-Identifier: GPL-2.0-only
"""This test will make check, compare-engines and expect pass, and make them fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import build
from chains import IRQ
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]
TRUTH = [
    build.bio_delay(-50.01, 300.01, 253, "jbd2/vdb-8"),
    build.bio_delay(250.19, 349.61, 253, "jbd2/vdb-8"),
    build.bio_delay(600.49, 399.01, 253, "jbd2/vdb-8"),
    {"ev": "end", "records": 3, "lost": 0},
]


def checked(
    tmp_path: Path, truth: list[dict[str, Any]], capsys: Capture, *options: str
) -> tuple[int, dict[str, Any]]:
    """Exit status and numbers of `check` for the cascade and this truth."""
    run = build.run_dir(tmp_path / "run", build.cascade(), truth=truth)
    status = main(["check", str(run), "--json", *options])
    return status, json.loads(capsys.readouterr().out)


def test_check_agrees(tmp_path: Path, capsys: Capture) -> None:
    """The same windows in the record: all shares near 1."""
    status, row = checked(tmp_path, TRUTH, capsys)
    assert status == 0
    assert row["stalls"] == 1 and row["root_right_share"] == 1
    assert row["precision"] > 0.999
    # Between two waits the writer itself ran while jbd2's bio was still kept.
    assert 0.98 < row["recall"] < 1
    assert row["violations"] == []


def test_check_asks_for_the_very_submitter(tmp_path: Path, capsys: Capture) -> None:
    """Delays of another task at the same time do not confirm the root."""
    other = [row | {"tid": 9} if "tid" in row else row for row in TRUTH]
    status, row = checked(tmp_path, other, capsys)
    assert status == 1
    assert row["root_right_share"] == 0 and row["precision"] == 0


def test_check_fails_on_the_wrong_time(tmp_path: Path, capsys: Capture) -> None:
    """Delays after the stall explain nothing of it."""
    late = [build.bio_delay(2000, 300, 253, "jbd2/vdb-8")]
    status, row = checked(tmp_path, late, capsys)
    assert status == 1 and row["precision"] == 0


@pytest.mark.parametrize(("tid", "share"), [(253, 1), (9, 0)])
def test_check_asks_for_the_submitter_in_defer_mode(
    tmp_path: Path, capsys: Capture, tid: int, share: int
) -> None:
    """The submitter continues and its bios are delayed: they are still its own."""
    defer = [
        row | {"mode": "defer", "tid": tid} if "tid" in row else row for row in TRUTH
    ]
    status, row = checked(tmp_path, defer, capsys)
    assert status == 1 - share
    assert row["root_right_share"] == row["owner_right_share"] == share


@pytest.mark.parametrize(("named", "status"), [(None, 0), (253, 0), (9, 1)])
def test_check_compares_the_holder_with_the_lock_s_own(
    tmp_path: Path, capsys: Capture, named: int | None, status: int
) -> None:
    """A holder that is not the task which the lock named fails the check."""
    events = build.cascade()
    for row in events.rows:
        if named and row["ev"] == "block" and row["waker_tid"] == 253:
            row |= {"lock": "mutex", "lock_at": "0x10", "holder": "owner"}
            row |= {"holder_tid": named, "holder_comm": "jbd2/vdb-8"}
    run = build.run_dir(tmp_path / "run", events, truth=TRUTH)
    assert main(["check", str(run), "--json"]) == status
    row = json.loads(capsys.readouterr().out)
    assert row["holder_right_share"] == (named and float(named == 253))
    assert row["lock_seen_share"] == row["holder_right_share"]
    main(["check", str(run)])
    assert ("holder_right_share 0.0000 < 0.95" in capsys.readouterr().out) == (
        named == 9
    )


@pytest.mark.parametrize(("tid", "status"), [(77, 0), (300, 1)])
def test_check_knows_whose_pages_a_write_waited_for(
    tmp_path: Path, capsys: Capture, tid: int, status: int
) -> None:
    """An io event names the flusher; a delay of the writer's own bios is none of it."""
    ev = build.Events()
    ev.io(77, 0, 299, "kworker/u8:3", "flusher_submits")
    ev.block(300, 10, 289, "page_writeback", IRQ, "completion", ctx="softirq")
    ev.write(300, 10, 289, 289)
    comm = {77: "kworker/u8:3", 300: "latwriter"}[tid]
    truth = [build.bio_delay(0, 299, tid, comm) | {"mode": "defer"}]
    scenario = build.manifest()["scenario"] | {"inject": [{"submitter": comm}]}
    run = build.run_dir(tmp_path / "run", ev.end(), truth=truth, scenario=scenario)
    assert main(["check", str(run), "--json"]) == status
    row = json.loads(capsys.readouterr().out)
    assert row["owner_right_share"] == 1 - status


@pytest.mark.parametrize("mode", ["sleep", "spin"])
def test_check_separates_the_delay_from_the_wait_for_a_cpu(
    mode: str, tmp_path: Path, capsys: Capture
) -> None:
    """The record includes the wait for a CPU: 40 of 100 ms were the run queue."""
    ev = build.Events()
    jbd2 = "jbd2/vdb-8"
    irq = (0, "swapper/0")
    ev.block(253, 0, 60, "jbd2_submit", irq, ctx="softirq", comm=jbd2, runq_ms=40)
    ev.block(300, 0, 100, "journal_buffer", (253, jbd2), "jbd2_wakes")
    ev.write(300, 0, 100, 100)
    truth = [build.bio_delay(0, 100, 253, jbd2) | {"mode": mode}]
    run = build.run_dir(tmp_path / "run", ev.end(), truth=truth)
    assert main(["check", str(run), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["injected_ns"], row["attributed_ns"]) == (60 * build.MS, 60 * build.MS)
    assert row["recall"] == 1 and row["attribution_error_ns"] == 0


def test_check_reports_a_delayed_bystander(tmp_path: Path, capsys: Capture) -> None:
    """Only bios of the selected submitter may be delayed."""
    stray = [*TRUTH, build.bio_delay(5000, 1, 300, "latwriter")]
    status, row = checked(tmp_path, stray, capsys)
    assert status == 1
    assert row["violations"] == [
        "1 bios of 'latwriter' were delayed, wanted only ['jbd2/*']"
    ]


@pytest.mark.parametrize(
    ("disk", "devices", "only"),
    [
        ("scratch", {}, "254:16"),
        ("scratch", {"backing_device": {"dev": "8:16"}}, "8:16"),
        ("journal", {"journal_device": {"dev": "8:0"}}, "8:0"),
        ("journal", {}, None),
    ],
)
def test_check_reports_a_delay_of_another_disk(
    tmp_path: Path, capsys: Capture, disk: str, devices: Any, only: str | None
) -> None:
    """Only a disk that a rule names may be delayed; if it is unknown, nothing is
    claimed."""
    rule = {"submitter": "jbd2/*", "disk": disk}
    scenario = build.manifest()["scenario"] | {"inject": [rule]}
    for dev in ("254:16", "8:0", "8:16"):
        rows = [row | {"dev": dev} if "tid" in row else row for row in TRUTH]
        run = tmp_path / dev
        build.run_dir(run, build.cascade(), truth=rows, scenario=scenario, **devices)
        main(["check", str(run), "--json"])
        strays = [
            line
            for line in json.loads(capsys.readouterr().out)["violations"]
            if f"of device {dev} were delayed, wanted only {only}" in line
        ]
        assert len(strays) == (only not in (None, dev))


def test_check_without_stalls_fails(tmp_path: Path, capsys: Capture) -> None:
    """Nothing to check is not a pass."""
    run = build.run_dir(tmp_path / "run", build.Events().end(), truth=TRUTH)
    assert main(["check", str(run)]) == 1
    assert "no stalled write to check" in capsys.readouterr().out


def test_check_without_truth(tmp_path: Path, capsys: Capture) -> None:
    """A run without the injector's record cannot be checked."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    assert main(["check", str(run)]) == 2
    assert "truth.jsonl: missing" in capsys.readouterr().err


def test_check_says_where_there_is_no_record_by_design(
    tmp_path: Path, capsys: Capture
) -> None:
    """An injector that keeps no record: neither right nor wrong, and not a pass."""
    injector = {"name": "dm-delay", "record": None}
    run = build.run_dir(tmp_path / "run", build.cascade(), injector=injector)
    assert main(["check", str(run)]) == 3
    said = capsys.readouterr()
    assert "dm-delay keeps no record of what it delayed" in said.out
    assert not said.err


def test_check_wants_a_record_that_is_promised(tmp_path: Path, capsys: Capture) -> None:
    """A record that the manifest names but that is missing is an error."""
    injector = {"name": "any", "record": "truth.jsonl"}
    run = build.run_dir(tmp_path / "run", build.cascade(), injector=injector)
    assert main(["check", str(run)]) == 2
    assert "truth.jsonl: missing" in capsys.readouterr().err


def test_check_min_decides(tmp_path: Path, capsys: Capture) -> None:
    """--min above what was reached fails."""
    assert checked(tmp_path, TRUTH, capsys, "--min", "0.9999")[0] == 1


CLIENT = [
    {"ev": "begin", "interval_ns": 1000000, "bytes": 200, "writers": 1},
    {
        "ev": "client_write",
        "seq": 1,
        "intended_ns": build.START_NS,
        "t_ns": build.START_NS - 100_000,
        "dur_ns": 1000 * build.MS + 300_000,
        "tid": 300,
        "path": "lab/gc.log",
        "offset": 0,
        "bytes": 200,
        "ret": 200,
    },
    {"ev": "end", "writes": 1000, "slow": 1, "missed": 0},
]


def compared(run: Path, capsys: Capture) -> tuple[int, str]:
    """Exit status and text of `compare-engines`."""
    return main(["compare-engines", str(run)]), capsys.readouterr().out


def test_engines_agree(tmp_path: Path, capsys: Capture) -> None:
    """Half a millisecond apart is the same write."""
    streams = build.cascade(), build.cascade("core", skew_ms=0.5)
    run = build.run_dir(tmp_path / "run", *streams, client=CLIENT)
    status, out = compared(run, capsys)
    assert status == 0, out
    assert out.startswith("agree: 1 stalled writes seen by both engines")
    assert "2 compared with the client's record" in out


def _stretched(events: build.Events, factor: float) -> build.Events:
    for row in events.rows:
        if row["ev"] == "write":
            row["dur_ns"] = int(row["dur_ns"] * factor)
    return events


@pytest.mark.parametrize(("factor", "status"), [(1.009, 0), (1.02, 1), (0.5, 1)])
def test_engines_that_differ(
    tmp_path: Path, capsys: Capture, factor: float, status: int
) -> None:
    """More than 1 ms and 1 % is a mismatch."""
    streams = build.cascade(), _stretched(build.cascade("core"), factor)
    run = build.run_dir(tmp_path / "run", *streams, client=CLIENT)
    assert compared(run, capsys)[0] == status


def test_a_stall_only_one_engine_saw(tmp_path: Path, capsys: Capture) -> None:
    """A mismatch, unless it is near the limit."""
    one = build.cascade()
    end = one.rows.pop()
    one.write(300, 3000, 400, 400)
    one.rows.append(end)
    run = build.run_dir(tmp_path / "r", one, build.cascade("core"), client=CLIENT)
    status, out = compared(run, capsys)
    assert status == 1 and "not seen by core" in out


def test_a_stall_at_the_limit_may_differ(tmp_path: Path, capsys: Capture) -> None:
    """50.4 ms of sleep against a limit of 50 ms: one of two engines may miss it."""
    one = build.cascade()
    end = one.rows.pop()
    one.write(301, 3000, 51, 50.4)
    one.rows.append(end)
    run = build.run_dir(tmp_path / "r", one, build.cascade("core"), client=CLIENT)
    status, out = compared(run, capsys)
    assert status == 0 and "1 outside the common time or at the limit" in out


def test_a_client_that_saw_nothing(tmp_path: Path, capsys: Capture) -> None:
    """Engines may agree with each other and still be wrong."""
    streams = build.cascade(), build.cascade("core")
    run = build.run_dir(tmp_path / "run", *streams, client=[CLIENT[0], CLIENT[2]])
    assert compared(run, capsys)[0] == 1


def _client(longer_ms: float) -> list[dict[str, Any]]:
    row = CLIENT[1] | {"dur_ns": int((1000 + longer_ms) * build.MS)}
    return [CLIENT[0], row, CLIENT[2]]


@pytest.mark.parametrize(
    ("longer_ms", "options", "status"),
    [
        (9, [], 0),
        (30, [], 1),
        (30, ["--awake-ms", "50"], 0),
        (90, ["--awake-ms", "50"], 1),
        (-30, ["--awake-ms", "50"], 1),
    ],
)
def test_the_client_may_be_awake_longer(
    tmp_path: Path, longer_ms: float, options: list[str], status: int
) -> None:
    """By 1 ms or 1 %, by more only when allowed, and never the other way round."""
    streams = build.cascade(), build.cascade("core")
    run = build.run_dir(tmp_path / "run", *streams, client=_client(longer_ms))
    assert main(["compare-engines", str(run), *options]) == status


def test_a_stall_only_the_client_saw(tmp_path: Path, capsys: Capture) -> None:
    """Both engines missed it: they agree, and are wrong."""
    more = CLIENT[1] | {"t_ns": build.START_NS + 5000 * build.MS, "seq": 2}
    streams = build.cascade(), build.cascade("core")
    run = build.run_dir(tmp_path / "run", *streams, client=[*CLIENT[:2], more])
    status, out = compared(run, capsys)
    assert status == 1
    assert "not seen by stap" in out and "not seen by core" in out


def test_one_engine_is_not_enough(tmp_path: Path, capsys: Capture) -> None:
    run = build.run_dir(tmp_path / "run", build.cascade())
    assert main(["compare-engines", str(run)]) == 2
    assert "a second engine's events are missing" in capsys.readouterr().err


def expecting(tmp_path: Path, capsys: Capture, **expect: Any) -> tuple[int, list[str]]:
    """Exit status and lines of `expect` for the cascade and this table."""
    base = {"chain": ["page_lock", "journal_buffer", "device_io"]}
    table = base | {"stalled_writes_min": 1, "stall_ms_min": 900} | expect
    scenario = {"name": "made-up", "expect": table}
    run = build.run_dir(tmp_path / "run", build.cascade(), scenario=scenario)
    return main(["expect", str(run)]), capsys.readouterr().out.splitlines()


def test_expect_holds(tmp_path: Path, capsys: Capture) -> None:
    """The cascade shows what it promises."""
    status, lines = expecting(tmp_path, capsys)
    assert (status, lines) == (0, ["as expected: made-up, 1 stalled writes"])


@pytest.mark.parametrize(
    "expect",
    [
        {"stalled_writes_min": 2},
        {"stall_ms_min": 1001},
        {"chain": ["page_lock", "device_io"]},
        {"chain": ["dirty_throttle"]},
    ],
)
def test_expect_misses(tmp_path: Path, capsys: Capture, expect: dict[str, Any]) -> None:
    """Each violation is one line, and the status is 1."""
    status, lines = expecting(tmp_path, capsys, **expect)
    assert status == 1 and len(lines) == 1


def test_expect_of_an_injector_that_holds_nobody(tmp_path: Path) -> None:
    """Such an injector has its own expected chain, if the scenario names one."""
    expect = {
        "chain": ["dirty_throttle"],
        "unheld_chain": ["page_lock", "journal_buffer"],
        "stalled_writes_min": 1,
        "stall_ms_min": 900,
    }
    scenario = {"name": "made-up", "expect": expect}
    for name, status in (("dm-delay", 0), ("scsi_debug", 0), ("biodelay", 1)):
        injector = {"name": name}
        path = tmp_path / name
        build.run_dir(path, build.cascade(), scenario=scenario, injector=injector)
        assert main(["expect", str(path)]) == status


def test_expect_without_a_table(tmp_path: Path, capsys: Capture) -> None:
    """A manifest without the table is bad input, not a pass."""
    run = build.run_dir(tmp_path / "run", build.cascade(), scenario={"name": "x"})
    assert main(["expect", str(run)]) == 2
    assert "no scenario.expect" in capsys.readouterr().err


def test_expect_of_another_form(tmp_path: Path, capsys: Capture) -> None:
    """A table with a key missing is bad input."""
    table = {"expect": {"chain": ["page_lock"]}}
    run = build.run_dir(tmp_path / "run", build.cascade(), scenario=table)
    assert main(["expect", str(run)]) == 2
    assert "stalled_writes_min" in capsys.readouterr().err
