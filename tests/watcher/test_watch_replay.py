# SPDX-License-Identifier: GPL-2.0-only
"""test_watch_replay: a replay refuses and notes what explain does, as it does."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from pathlib import Path

import pytest
from watch_process import RUN, piped, watch

from writestall.cli.main import main

(PACKED,) = (RUN / "events").iterdir()
EVENTS = gzip.decompress(PACKED.read_bytes())
RANDOM = random.Random(7).randbytes(4000)
DATED = re.compile(r"\d{4}-\d\d-\d\d ")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose events are not compressed."""
    run = Path(shutil.copytree(RUN, tmp_path / "run"))
    (run / "events" / PACKED.name).unlink()
    (run / "events/stap.jsonl").write_bytes(EVENTS)
    return run


def _clock(run: Path, **changed: int) -> None:
    place = run / "manifest.json"
    manifest = json.loads(place.read_text())
    place.write_text(json.dumps(manifest | {"clock": manifest["clock"] | changed}))


def test_compressed_events_are_read() -> None:
    done = watch("--replay", PACKED)
    assert (done.returncode, done.stderr) == (0, "")
    first, *stalls, last = done.stdout.splitlines()
    assert first == "watch: events alone, no manifest.json; names and versions unknown"
    assert "6 stalls, 6 reported" in last and last.endswith(" 0 not readable")
    assert len(stalls) == 6 and not any(map(DATED.match, stalls))


@pytest.mark.parametrize("content", [b"", RANDOM, b"x" * (60 << 20)])
def test_what_has_no_event_is_refused_as_explain_does(
    run: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    events = run / "events/stap.jsonl"
    events.write_bytes(content)
    assert main(["explain", str(run)]) == 2
    _, _, why = capsys.readouterr().err.strip().partition(": ")
    done = watch("--replay", run)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.replace("256 KiB", "1 MiB") == f"watch: {why}\n"
    done = watch("--replay", events)
    why = f"{events}: not a run directory (it is a file), and no events in it"
    assert (done.returncode, done.stderr) == (2, f"watch: {why}\n")


def test_damaged_lines_are_named(run: Path) -> None:
    good, bad = EVENTS.splitlines(), [b'{"ev":"block","t_ns":1}', b"", b"[1]", b"x"]
    later = b'{"ev":"of a later version"}'
    lines = [*good[:4], *bad, later, *good[4:]]
    (run / "events/stap.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    done = watch("--replay", run)
    assert done.returncode == 0
    assert "LOST: 3 lines that are no events" in done.stdout
    assert "watch: stap.jsonl:5: Object missing required field `dur_ns`" in done.stdout
    assert "watch: stap.jsonl:7: Expected `object`, got `array`" in done.stdout
    assert "6 stalls, 6 reported" in done.stdout


@pytest.mark.parametrize(
    ("manifest", "note"),
    [
        (None, "manifest.json: No such file or directory; names and versions unknown"),
        ("[]", "manifest.json: not a table; names and versions unknown"),
        ('{"format": 99}', "manifest.json: format 99, this version reads 1; read as"),
        ('{"format": 1}', "manifest.json: no clocks of the run; times of day unknown"),
    ],
)
def test_without_clocks_there_is_a_note_and_no_date(
    run: Path, manifest: str | None, note: str
) -> None:
    (run / "manifest.json").unlink()
    if manifest is not None:
        (run / "manifest.json").write_text(manifest)
    done = watch("--replay", run)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert sum(note in line for line in lines) == 1
    assert not any(map(DATED.match, lines))


def test_a_clock_beyond_all_time_is_none(run: Path) -> None:
    _clock(run, realtime_ns=999999999999999999999999999)
    done = watch("--replay", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no clocks of the run" in done.stdout


def test_events_that_end_early_are_a_damaged_input(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(PACKED.read_bytes()[:-2000])
    done = watch("--replay", cut)
    assert done.returncode == 2
    assert "cut.jsonl.gz: damaged or cut off: " in done.stdout
    assert "no end line: the tracer was cut off" in done.stdout
    assert "reported" in done.stdout


def test_a_pipe_that_ends_early_is_one_too() -> None:
    done = piped(f"head -c 3000 {PACKED} | WATCH --replay /dev/stdin")
    assert done.returncode == 2
    assert "stdin: damaged or cut off: " in done.stdout
