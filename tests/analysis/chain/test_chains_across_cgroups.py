# SPDX-License-Identifier: GPL-2.0-only
"""This test will follow chains across cgroups, name the containers, and give the time
that a limit kept an I/O back to the cgroup that has the limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import build
from build import Events
from chains import IRQ, MS, assert_adds_up
from writestall.chain.answers import Answer, answer
from writestall.chain.cgroups import Cgroups, label
from writestall.cli.main import main
from writestall.events.run_directory import open_run
from writestall.report.text import report

POD_A = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice"
UID = "11111111_2222_3333_4444_555555555555"
A = f"{POD_A.format(UID)}/cri-containerd-{'a' * 64}.scope"
B = "/writestall-9/b"
PATHS = {1: "/", 7: A, 8: B}
SYNC_MS = 300
LIMITS = [{"name": "b", "path": B, "io_max": {"wbps": 2 << 20}}]
FLUSHER = (77, "kworker/u8:3")


def begun() -> Events:
    """A stream that knows the cgroups."""
    events = Events()
    for id, path in PATHS.items():
        row = {"ev": "cgroup", "t_ns": 1, "id": id, "version": 2, "path": path}
        events.rows.append(row)
    return events


def throttled(events: Events, back_ms: float, cgroup: int = 8) -> Events:
    """An fsync(2) of a task in A for pages that the flusher writes for a cgroup."""
    events.io(*FLUSHER[:1], -100, 100 + SYNC_MS - 0.1, FLUSHER[1], "flusher_submits")
    events.rows[-1] |= {"cgroup": cgroup, "throttled_ns": int((100 + back_ms) * MS)}
    events.block(300, 0, SYNC_MS, "own_writeback", IRQ, "completion", ctx="softirq")
    events.rows[-1] |= {"cgroup": 7, "waker_cgroup": 1}
    events.write(300, 0, SYNC_MS, SYNC_MS, call="fsync", stack="own_writeback")
    events.rows[-1] |= {"cgroup": 7}
    return events.end()


def found(tmp_path: Path, events: Events, **more: Any) -> Answer:
    """The answer to a stream, whose chains must add up."""
    run = build.run_dir(tmp_path / "run", events, **more)
    explained = answer(open_run(run), None)
    for chain in explained.chains:
        assert_adds_up(chain)
    return explained


def test_a_limit_is_the_root_until_it_let_the_io_go(tmp_path: Path) -> None:
    events = throttled(begun(), 280)
    roots = found(tmp_path, events, cgroups=LIMITS).all_roots
    assert {str(root): ns // MS for root, ns in roots.items()} == {
        "cgroup b, capped at 2 MiB/s by io.max": 280,
        "vdb slow for writeback": 20,
    }


def test_a_recorded_host_shows_the_limit_of_a_level_above(tmp_path: Path) -> None:
    io_max = "8:0 rbps=max wbps=1048576 riops=max wiops=50"
    row = {"controller": "", "path": "/writestall-9", "io.max": io_max}
    tasks = [{"pid": 5, "comm": "x", "limits": [row]}]
    (root,) = found(tmp_path, throttled(begun(), 300), tasks=tasks).all_roots
    assert str(root) == (
        "cgroup writestall-9, capped at 1 MiB/s and 50 operations/s by io.max"
    )


def test_an_event_shows_the_limit_the_last_one_counts(tmp_path: Path) -> None:
    events = begun()
    for limit in ("8:0 wbps=4194304", "8:0 rbps=9 wbps=1048576"):
        row = {"ev": "cgroup", "t_ns": 2, "id": 8, "version": 2, "path": B}
        events.rows.append(row | {"io_max": limit})
    (root,) = found(tmp_path, throttled(events, 300), cgroups=LIMITS).all_roots
    assert str(root) == "cgroup b, capped at 1 MiB/s by io.max"


def test_a_limit_that_nothing_shows_is_still_one(tmp_path: Path) -> None:
    (root,) = found(tmp_path, throttled(begun(), 300)).all_roots
    assert str(root) == "cgroup b, throttled by io.max"


def test_an_io_that_was_let_go_before_is_the_disks(tmp_path: Path) -> None:
    (root,) = found(tmp_path, throttled(begun(), 0)).all_roots
    assert str(root) == "vdb slow for writeback"


def test_the_text_names_both_cgroups(tmp_path: Path) -> None:
    events = throttled(begun(), 300)
    text = "\n".join(report(found(tmp_path, events, cgroups=LIMITS), 3))
    pod = f"{'a' * 12} in pod {UID.replace('_', '-')}"
    assert f"latwriter/300 in {pod}" in text
    assert "block_queue  for cgroup b, capped at 2 MiB/s by io.max" in text
    assert "waiting for the I/O of cgroup b, capped at 2 MiB/s by io.max." in text


def test_the_text_names_whose_io_it_waits_for(tmp_path: Path) -> None:
    """Without a limit, too; that of the one who waits is not worth a word."""
    other = report(found(tmp_path / "b", throttled(begun(), 0, cgroup=8)), 3)
    assert "submitted by kworker/u8:3/77 for cgroup b" in "\n".join(other)
    own = report(found(tmp_path / "a", throttled(begun(), 0, cgroup=7)), 3)
    assert "submitted by kworker/u8:3/77\n" in "\n".join(own)


def test_names_that_a_runtime_gave_are_used(tmp_path: Path) -> None:
    """They come from another host's files: what a terminal would obey is escaped."""
    explained = {
        "runtime": "containerd",
        "id": "a" * 64,
        "pod": "shop-0",
        "name": "db\x1b",
    }
    events = throttled(begun(), 300)
    containers = [{"path": A} | explained, {"name": "no path"}, "no row"]
    answered = found(tmp_path, events, cgroups=LIMITS, containers=containers)
    text = "\n".join(report(answered, 3))
    assert "latwriter/300 in db\\x1b in pod shop-0" in text
    assert "of cgroup b, capped" in text


def held(holder: int) -> Events:
    """A write of a task in A that waits for a page of a task in another cgroup."""
    events = begun()
    events.block(300, 0, 300, "page_lock", (400, "backup"), "unlocks")
    events.rows[-1] |= {"cgroup": 7, "waker_cgroup": holder}
    events.write(300, 0, 300, 300)
    events.rows[-1] |= {"cgroup": 7}
    return events.end()


@pytest.mark.parametrize(
    ("holder", "words"),
    [(8, "held by backup/400 in cgroup b"), (7, "held by backup/400"), (1, None)],
)
def test_a_holder_has_its_cgroup_where_it_is_another(
    tmp_path: Path, holder: int, words: str | None
) -> None:
    """Kernel threads are in the root, and the writer's own needs no word."""
    lines = list(report(found(tmp_path, held(holder)), 3))
    (line,) = [line.rstrip() for line in lines if "held by" in line]
    assert line.endswith(words or "held by backup/400")
    assert any(" in pod " in line for line in lines) == (holder == 8)


def test_a_cgroup_that_is_gone_has_its_id() -> None:
    groups = Cgroups({(2, id): path for id, path in PATHS.items()})
    assert label(str(groups.of(99, None))) == "cgroup id 99"
    assert not isinstance(groups.of(None, None), str)


def test_version_1_counts_where_version_2_has_the_root() -> None:
    groups = Cgroups({(2, 1): "/", (1, 5): "/docker/x", (2, 7): A})
    assert groups.of(1, 5) == "/docker/x"
    assert groups.of(7, 5) == A


def test_check_does_not_pass_a_limit_where_the_tracer_was_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more: dict[str, Any] = {"cgroups": LIMITS, "throttle_log": "throttled.jsonl"}
    events = throttled(begun(), 300)
    run = build.run_dir(tmp_path / "run", events, injector=None, **more)
    (run / "throttled.jsonl").write_text(
        build.json_lines([THROTTLED | {"dur_ns": 400 * MS}, END])
    )
    stream = run / "events/stap.jsonl"
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join(lines[:-1]))
    assert main(["check", str(run)]) == 1
    assert "no end line: the tracer was cut off" in capsys.readouterr().out


THROTTLED = {"ev": "throttled", "t_ns": build.START_NS - 100 * MS, "cgroup": B}
END = {"ev": "end", "records": 1, "lost": 0}


@pytest.mark.parametrize(
    ("rows", "status", "share"),
    [
        ([THROTTLED | {"dur_ns": 400 * MS}, END], 0, 1),
        ([THROTTLED | {"dur_ns": 50 * MS}, END], 1, 0),
        ([THROTTLED | {"dur_ns": 400 * MS, "cgroup": A}, END], 1, 0),
        ([THROTTLED | {"dur_ns": 400 * MS}, END | {"lost": 2}], 1, 1),
    ],
    ids=["agrees", "another time", "another cgroup", "lines were lost"],
)
def test_check_compares_a_limit_with_the_kernels_own_log(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: list[dict[str, Any]],
    status: int,
    share: int,
) -> None:
    events = throttled(begun(), 300)
    run = build.run_dir(
        tmp_path / "run",
        events,
        cgroups=LIMITS,
        throttle_log="throttled.jsonl",
        injector=None,
    )
    (run / "throttled.jsonl").write_text(build.json_lines(rows))
    assert main(["check", str(run), "--json"]) == status
    assert json.loads(capsys.readouterr().out)["precision"] == share
