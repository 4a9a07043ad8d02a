# SPDX-License-Identifier: GPL-2.0-only
"""This test will remove a class of waiting from runs, and name the proving run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import build
from golden_runs import NAMES, unpacked
from hlog_text import HEADER, interval
from labrun.scenario import reading
from refusals import refused
from support import PROJECT
from writestall.chain import answers
from writestall.cli.main import main
from writestall.common.scales import EDGES_NS, label
from writestall.events import run_directory
from writestall.whatif import removal
from writestall.whatif.proof import PROOFS, proofs

Capture = pytest.CaptureFixture[str]
MS = build.MS
SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def what_if(run: Path, cls: str) -> removal.WhatIf:
    """A run without a class."""
    return removal.what_if(answers.answer(run_directory.open_run(run), None), cls)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """1000 ms: 600 journal_buffer and 390 page_lock, both down to the disk."""
    return build.run_dir(tmp_path / "run", build.cascade())


@pytest.mark.parametrize(
    ("cls", "left_ms"),
    [
        # 391 ms of page lock, 2 in the run queue, 7 awake.
        ("journal_buffer", 9),
        ("page_lock", 609),
        # The wait of its holder is removed, and the flusher's other time stays.
        ("device_io", 11.1),
        ("runqueue", 998),
        ("raid_or_dm", 1000),
    ],
)
def test_a_wait_goes_wherever_it_stands(run: Path, cls: str, left_ms: float) -> None:
    """The write's own waits and those of its holders; the rest stays as it was."""
    ((before_ns, then_ns),) = what_if(run, cls).durations_ns
    assert before_ns == 1000 * MS
    assert then_ns == pytest.approx(left_ms * MS, abs=1.5 * MS)


def json_without(parts: Sequence[dict[str, Any]], cls: str) -> int:
    """The same computed from chains.json by adding up the parts."""
    left = 0
    for part in parts:
        if part["class"] != cls:
            inner = part.get("parts")
            left += json_without(inner, cls) if inner else part["dur_ns"]
    return left


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs(name: str, tmp_path: Path) -> None:
    """Before: as in summary.json; after: what chains.json gives without the class."""
    run = unpacked(name, tmp_path)
    assert main(["explain", str(run)]) == 0
    totals = json.loads((run / "summary.json").read_text())
    chains = json.loads((run / "chains.json").read_text())["chains"]
    for cls in [*totals["stall_ns_by_class"], "device_io"]:
        if cls not in removal.CLASSES:
            continue
        found = what_if(run, cls)
        then = [json_without(chain["parts"], cls) for chain in chains]
        assert found.stalls == (totals["stalls"], sum(ns >= 50 * MS for ns in then))
        assert found.sums_ns == (totals["stall_ns"], sum(then))
        assert found.longest_ns == (totals["longest_stall_ns"], max(then))
        assert found.percentiles is not None
        keys = ("p50_ns", "p99_ns", "p999_ns", "max_ns")
        assert found.percentiles.measured_ns == tuple(totals[key] for key in keys)
        assert sum(found.percentiles.then_writes) == totals["writes"]


@pytest.mark.parametrize("name", NAMES)
def test_the_queue_is_the_one_that_was_measured(name: str, tmp_path: Path) -> None:
    """Simulated unchanged, the tail is within a twentieth of the measured one."""
    found = what_if(unpacked(name, tmp_path), "raid_or_dm").percentiles
    assert found is not None
    assert found.model_ns == found.then_ns
    for measured_ns, model_ns in list(
        zip(found.measured_ns, found.model_ns, strict=True)
    )[1:]:
        assert model_ns == pytest.approx(measured_ns, rel=0.05)


def with_a_schedule(run: Path, writers: int = 1) -> Path:
    """A client of one write each 10 ms for 3 s, whose write 0 took 1001 ms."""
    call = {"ev": "client_write", "seq": 0, "tid": 300, "call": "write"}
    call |= {"t_ns": build.START_NS - 1000, "dur_ns": 1001 * MS}
    call |= {"intended_ns": build.START_NS - 1000}
    begin = {"ev": "begin", "interval_ns": 10 * MS, "writers": writers}
    (run / "writer.jsonl").write_text(build.json_lines([begin, call]))
    waited = [1001 * MS - 10 * MS * seq for seq in range(100)]
    seconds = [waited, [MS] * 100, [MS] * 100]
    idle = [[MS] * 100 * (writers - 1)] * 3
    lines = [
        f"{at}.000," + interval(*first, *rest).split(",", 1)[1]
        for at, (first, rest) in enumerate(zip(seconds, idle, strict=True))
    ]
    (run / "writer.hlog").write_text(HEADER + "".join(lines))
    (run / "writer-service.hlog").write_text(HEADER + interval(*[MS // 2] * 300))
    return run


@pytest.mark.parametrize("writers", [1, 4])
def test_writes_kept_from_starting_are_played_again(run: Path, writers: int) -> None:
    """Writes that waited for the slow call no longer do; others stay as measured."""
    with_a_schedule(run, writers)
    found = what_if(run, "journal_buffer").percentiles
    assert found is not None
    for as_is, model_ns in zip(found.measured_ns, found.model_ns, strict=True):
        assert model_ns == pytest.approx(as_is, rel=0.06)
    assert found.measured_ns[-1] == pytest.approx(1001 * MS, rel=0.01)
    assert found.then_ns[0] == pytest.approx(MS, rel=0.01)
    assert found.then_ns[-1] == pytest.approx(10 * MS, rel=0.1)
    then = dict(zip(map(label, EDGES_NS), found.then_writes, strict=True))
    # Write 0 takes a little over 10 ms still, and write 1 waits for the rest of it.
    assert {edge: count for edge, count in then.items() if count} == {
        "1 ms": 1,
        "2 ms": 300 * writers - 2,
        "20 ms": 1,
    }


def test_without_the_client_there_are_the_stalls(run: Path, capsys: Capture) -> None:
    """No schedule: the stalled writes only, and a note of what is missing."""
    assert main(["hist", str(run), "--what-if", "journal_buffer=0"]) == 0
    out = capsys.readouterr().out
    assert "no schedule in writer.jsonl" in out and "1000 ms" in out


def test_the_answer_names_the_run_that_proves_it(run: Path, capsys: Capture) -> None:
    """The change to the scenario, its reason, and its side effects."""
    assert main(["hist", str(run), "--what-if", "page_lock=0"]) == 0
    out = capsys.readouterr().out
    assert '"vm.dirty_writeback_centisecs" = 0' in out and "[sysctl]" in out
    assert "Documentation/admin-guide/sysctl/vm.rst" in out


def test_the_distribution_is_shown(run: Path, capsys: Capture) -> None:
    """Both counts of each bucket, gaps included."""
    with_a_schedule(run)
    assert main(["hist", str(run), "--what-if", "journal_buffer=0"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    counts = {
        " ".join(line[:2]): [int(word) for word in line[2:] if word.isdigit()]
        for line in lines
        if len(line) > 2 and line[1] in ("ms", "s") and line[2].isdigit()
    }
    assert list(counts) == [label(ns) for ns in EDGES_NS][9:20]
    assert counts["2 ms"] == [200, 298] and counts["1 s"][1] == 0
    assert sum(before for before, _ in counts.values()) == 300


def test_a_class_on_no_path(run: Path, capsys: Capture) -> None:
    """No write waited for it, so there is nothing to prove."""
    assert main(["hist", str(run), "--what-if", "raid_or_dm=0"]) == 0
    assert "no stalled write had raid_or_dm in its chain" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["nonsense=0", "page_lock", "page_lock=5", "=0", ""])
def test_what_cannot_be_asked(run: Path, text: str, capsys: Capture) -> None:
    """One line with the known classes."""
    assert "want CLASS=0 of" in refused(["hist", str(run), "--what-if", text], capsys)


def test_a_picture_shows_both_distributions(run: Path, tmp_path: Path) -> None:
    """Each non-empty bucket by its name, and the remaining stalls."""
    with_a_schedule(run)
    file = tmp_path / "a.svg"
    argv = ["hist", str(run), "--what-if", "journal_buffer=0", "-o", str(file)]
    assert main(argv) == 0
    texts = [node.text for node in ElementTree.parse(file).iter(SVG_TEXT)]
    assert {"as it was", "then", "2 ms", "1 s"} <= set(texts)
    assert any("0 of 1 stalls left, p99.9 1001 ms to" in str(text) for text in texts)


def test_no_picture_without_a_schedule(
    run: Path, tmp_path: Path, capsys: Capture
) -> None:
    """One line, and no file."""
    file = tmp_path / "a.svg"
    argv = ["hist", str(run), "--what-if", "page_lock=0", "-o", str(file)]
    assert "no schedule in writer.jsonl" in refused(argv, capsys)
    assert not file.exists()


def test_nothing_stalled(tmp_path: Path, capsys: Capture) -> None:
    """One line."""
    run = build.run_dir(tmp_path / "run", build.Events().end())
    assert "nothing to remove" in refused(
        ["hist", str(run), "--what-if", "page_lock=0"], capsys
    )


def test_a_proof_fits_the_file_system() -> None:
    """XFS has no jbd2, so no proof on it may remove the journal."""
    assert proofs("journal_buffer", "ext4") and not proofs("journal_buffer", "xfs")
    assert len(proofs("fs_transaction", None)) == 2
    assert [row.filesystems for row in proofs("fs_transaction", "btrfs")] == [
        ("btrfs",)
    ]


def test_every_class_has_a_proof_or_a_reason() -> None:
    """fs_lock and other have too many causes to be removed by one change."""
    assert {row.cls for row in PROOFS} == {*removal.CLASSES} - {"fs_lock", "other"}


@pytest.mark.parametrize("row", PROOFS, ids=lambda row: f"{row.cls}-{row.table}")
def test_the_lab_accepts_the_change(row: Any) -> None:
    """In a scenario, the lines are accepted by repro/run."""
    assert row.why and (row.lines or row.also)
    name = {"memory": "memory-reclaim"}.get(row.table, "journal-buffer")
    base = (PROJECT / f"repro/scenarios/{name}.toml").read_text()
    of = (row.filesystems or ("ext4",))[0]
    text = base.replace('type = "ext4"', f'type = "{of}"')
    header = "[[workload]]" if row.table == "workload" else f"[{row.table}]"
    if row.lines:
        assert header in text
        lines = "\n".join(row.lines)
        names = [line.partition("=")[0] for line in row.lines]
        kept = [ln for ln in text.splitlines() if not ln.startswith(tuple(names))]
        text = "\n".join(kept).replace(header, f"{header}\n{lines}")
    assert reading.parse(text, "test", name).name == name
