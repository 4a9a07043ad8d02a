# SPDX-License-Identifier: GPL-2.0-only
"""This test will read bad input: one clear line, or the gap stated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import build
from refusals import refused
from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]


def answered(run: Path, capsys: Capture) -> str:
    """What explain prints for a readable run."""
    assert main(["explain", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def stap(run: Path) -> Path:
    """The event file of a run."""
    return run / "events" / "stap.jsonl"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A readable run, to be damaged."""
    return build.run_dir(tmp_path / "run", build.cascade())


def test_no_such_run(tmp_path: Path, capsys: Capture) -> None:
    """The path is named."""
    line = refused(["explain", str(tmp_path / "gone")], capsys)
    assert "gone: no such run" in line


def test_not_a_run_directory(tmp_path: Path, capsys: Capture) -> None:
    """An empty folder and a file have different messages."""
    assert "not a run directory" in refused(["explain", str(tmp_path)], capsys)
    (tmp_path / "file").write_text("x")
    assert "it is a file" in refused(["explain", str(tmp_path / "file")], capsys)


def test_no_events(run: Path, capsys: Capture) -> None:
    """A manifest without events names the folder."""
    stap(run).unlink()
    assert "was a tracer started?" in refused(["explain", str(run)], capsys)
    line = refused(["explain", str(run), "--engine", "bpftrace"], capsys)
    assert "bpftrace.jsonl" in line


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"garbage\n", b"\x00\xff\xfe" * 99, b"[" * 200_000]
)
def test_nothing_readable(run: Path, content: bytes, capsys: Capture) -> None:
    """A file without one event is refused by name."""
    stap(run).write_bytes(content)
    assert "stap.jsonl" in refused(["explain", str(run)], capsys)


def test_a_broken_line_is_named_and_the_rest_read(run: Path, capsys: Capture) -> None:
    """File and line number; the answer is the same."""
    lines = stap(run).read_text().splitlines()
    lines[3:3] = ['{"ev":"block","t_ns":', '{"ev":"block","t_ns":1}', "[1]"]
    stap(run).write_text("\n".join(lines) + "\n")
    out = answered(run, capsys)
    assert "note: events/stap.jsonl:4:" in out and "2 more like it" in out
    assert "worst 1000 ms; 99.0 %" in out
    assert json.loads((run / "summary.json").read_text())["broken_lines"] == 3


def test_cut_off_in_mid_line(run: Path, capsys: Capture) -> None:
    """The missing `end` and the truncated line are both reported."""
    content = stap(run).read_bytes()
    end = content.rstrip().rindex(b"\n")
    stap(run).write_bytes(content[: end + 20])
    out = answered(run, capsys)
    assert "no end line: the tracer was cut off" in out
    assert "stap.jsonl:9:" in out


def test_reordered_and_duplicated(run: Path, capsys: Capture) -> None:
    """Order does not matter, and a repeated line counts once."""
    before = answered(run, capsys).splitlines()
    lines = stap(run).read_text().splitlines()
    stap(run).write_text("\n".join(reversed(lines + lines[1:4])) + "\n")
    after = answered(run, capsys).splitlines()
    assert after[0] == before[0]
    assert any("same task and start as line" in line for line in after)


def test_events_of_kinds_to_come_are_no_mistake(run: Path, capsys: Capture) -> None:
    """Events with an unknown `ev` are ignored silently."""
    with stap(run).open("a") as file:
        file.write('{"ev":"request","t_ns":1,"dur_ns":2}\n')
    notes = [ln for ln in answered(run, capsys).splitlines() if "note:" in ln]
    assert not any("stap.jsonl" in note for note in notes)


def test_a_write_of_no_length(run: Path, capsys: Capture) -> None:
    """Its duration is zero, and other writes are explained."""
    stalled, *rest = stap(run).read_text().splitlines()
    (write,) = [line for line in rest if '"ev": "write"' in line]
    nothing = json.loads(write) | {"dur_ns": 0, "slept_ns": 0}
    stap(run).write_text(f"{stalled}\n{json.dumps(nothing)}\n")
    assert "1 write stalled, worst 0.00 ms" in answered(run, capsys)


def test_sleeps_at_the_end_of_time(run: Path, capsys: Capture) -> None:
    """The longest times that an event may have, for every kind of sleep."""
    lines = stap(run).read_text().splitlines()
    for row in [json.loads(line) for line in lines if '"ev": "block"' in line]:
        row |= {"t_ns": 2**62, "dur_ns": 2**62, "runq_ns": 2**62}
        lines.append(json.dumps(row))
    stap(run).write_text("\n".join(lines) + "\n")
    assert "1 write stalled, worst 1000 ms" in answered(run, capsys)


def test_a_line_of_a_megabyte(run: Path, capsys: Capture) -> None:
    """Too long lines are refused without being decoded."""
    with stap(run).open("a") as file:
        file.write('{"ev":"block","comm":"' + "x" * (1 << 20) + '"}\n')
    assert "longer than 1 MiB" in answered(run, capsys)


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00", "[" * 100_000, '{"a":1}'])
def test_a_broken_manifest_is_a_note(run: Path, content: str, capsys: Capture) -> None:
    """Events are explained without it."""
    (run / "manifest.json").write_text(content)
    out = answered(run, capsys)
    assert "note: manifest.json:" in out
    assert "1 write stalled, worst 1000 ms" in out


@pytest.mark.parametrize("status", [None, [], 7])
def test_a_status_that_is_none_is_a_note(
    tmp_path: Path, status: object, capsys: Capture
) -> None:
    """It is no reason why the run would not be complete."""
    run = build.run_dir(tmp_path / "r", build.cascade())
    manifest = build.manifest() | {"status": status}
    (run / "manifest.json").write_text(json.dumps(manifest))
    out = answered(run, capsys)
    assert "manifest.json: no status; whether the run ended is unknown" in out
    assert "not complete" not in out


def test_a_damaged_record_of_the_injector_is_no_verdict(
    run: Path, capsys: Capture
) -> None:
    """The file and the first line that cannot be read are named."""
    (run / "truth.jsonl").write_bytes(b"\x00\xff\n" * 9)
    line = refused(["check", str(run)], capsys)
    assert f"{run / 'truth.jsonl'}:1: JSON is malformed" in line
    assert "damaged, no record could be read" in line


def test_a_cut_off_run_says_so(tmp_path: Path, capsys: Capture) -> None:
    """A status of `running` means that the machine was lost."""
    run = build.run_dir(tmp_path / "r", build.cascade(), status="running")
    assert "the run is cut_off, not complete" in answered(run, capsys)


def test_a_command_that_the_lab_ended_is_named(tmp_path: Path, capsys: Capture) -> None:
    late = {"name": "app", "late_s": 10.2}
    run = build.run_dir(tmp_path / "r", build.cascade(), writer=late, load=7)
    said = answered(run, capsys)
    assert "note: app had not ended 10.2 s after its time: the lab ended it\n" in said


def test_lost_events_stand_in_the_first_line(tmp_path: Path, capsys: Capture) -> None:
    """The first line says what was lost and why, before the answer."""
    events = build.cascade()
    events.rows.pop()
    events.lost(12, why="printing fell behind")
    run = build.run_dir(tmp_path / "r", events.end())
    first = answered(run, capsys).splitlines()[0]
    assert first.startswith("LOST: 12 events (printing fell behind)")


def test_escapes_in_names_do_nothing(tmp_path: Path, capsys: Capture) -> None:
    """A path and a comm with terminal escapes are printed as text."""
    evil = "\x1b]0;pwned\x07\x1b[2J\u202e\n<script>"
    events = build.cascade()
    for row in events.rows:
        if row["ev"] == "write":
            row |= {"path": evil, "comm": evil, "call": evil}
    events.lost(1, what=evil, why=evil)
    run = build.run_dir(tmp_path / "r", events, reason=evil, status=evil, kernel=evil)
    (run / "manifest.json").write_text(
        json.dumps(build.manifest(status=evil, reason=evil, kernel=evil))
    )
    out = answered(run, capsys)
    assert "pwned" in out
    assert all(ch.isprintable() or ch == "\n" for ch in out)


def test_a_run_without_stalls(tmp_path: Path, capsys: Capture) -> None:
    """Says that nothing stalled, and what the limit was."""
    run = build.run_dir(tmp_path / "r", build.Events().end())
    assert answered(run, capsys).startswith("No write stalled for 50.0 ms or more.")


def test_write_beyond_the_last(run: Path, capsys: Capture) -> None:
    """--write says how many there are."""
    line = refused(["explain", str(run), "--write", "2"], capsys)
    assert "this run has 1" in line


def test_answer_cannot_be_written(run: Path, capsys: Capture) -> None:
    """The answer is still printed; the obstacle is named and left alone."""
    (run / "chains.json").mkdir()
    assert main(["explain", str(run)]) == 2
    out, err = capsys.readouterr()
    assert "1 write stalled" in out
    (line,) = err.splitlines()
    assert "chains.json" in line
    assert (run / "chains.json").is_dir()


def test_json_is_what_the_files_hold(run: Path, capsys: Capture) -> None:
    """--json prints the summary and the chains that the run directory holds."""
    assert main(["explain", str(run), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["summary"] == json.loads((run / "summary.json").read_text())
    chains = json.loads((run / "chains.json").read_text())
    assert printed["chains"] == chains["chains"]
    (chain,) = chains["chains"]
    assert sum(part["dur_ns"] for part in chain["parts"]) == chain["dur_ns"]
    assert chain["root"] == "vdb slow for jbd2"
