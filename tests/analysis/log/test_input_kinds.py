# SPDX-License-Identifier: GPL-2.0-only
"""This test will give `explain` a run, bare events or a log, and no option that says
which."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_wrappings import COMPRESSED

from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]

RUN = Path(__file__).parents[2] / "data" / "runs" / "journal-buffer-7.2"
EVENTS = gzip.decompress((RUN / "events" / "stap.jsonl.gz").read_bytes())
LOG = b"task:tar  state:D  pid:71\nCall Trace:\n submit_bio_wait+0x5/0x9\n"


def first_line(out: str) -> str:
    """The answer in one sentence."""
    return out.splitlines()[0]


def from_run(tmp_path: Path, capsys: Capture) -> str:
    """The result for the same events inside a run directory without a manifest."""
    run = tmp_path / "run"
    (run / "events").mkdir(parents=True)
    (run / "events" / "stap.jsonl").write_bytes(EVENTS)
    assert main(["explain", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "after messages": lambda data: b"Pass 5: starting run.\n" + data,
    **COMPRESSED,
}


def packed(form: str, data: bytes) -> bytes:
    """Some bytes in one of the forms; skips what this machine cannot make."""
    if form == "zst" and not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    return FORMS[form](data)


@pytest.mark.parametrize("form", FORMS)
def test_events_alone(form: str, tmp_path: Path, capsys: Capture) -> None:
    """The same chains as for a run; what a manifest would contain is reported as
    unknown."""
    path = tmp_path / "stalls"
    path.write_bytes(packed(form, EVENTS))
    assert main(["explain", str(path)]) == 0
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert line == f"{path}: events of a tracer, without a manifest"
    assert "no manifest.json; names and versions unknown" in out
    expected = from_run(tmp_path, capsys)
    chains = [row for row in expected.splitlines() if "+- " in row]
    assert chains and [row for row in out.splitlines() if "+- " in row] == chains
    kept = tmp_path / "stalls.explained"
    summary = json.loads((kept / "summary.json").read_text())
    assert summary["scenario"] is None and summary["stalls"] > 0
    assert (kept / "chains.json").is_file()


@pytest.mark.parametrize("content", [EVENTS, b'{"ev":"begin"\n'])
def test_the_page_goes_beside_the_events(content: bytes, tmp_path: Path) -> None:
    """Without -o; the page of unreadable events says so."""
    path = tmp_path / "stalls.jsonl"
    path.write_bytes(content)
    readable = content == EVENTS
    for command in (["report"], ["explain", "--report"]):
        assert main([*command, str(path)]) == (0 if readable else 2)
        page = tmp_path / "stalls.jsonl.explained" / "report.html"
        assert ("no event could be read" in page.read_text()) is not readable
        page.unlink()


def test_the_page_of_events_alone(tmp_path: Path, capsys: Capture) -> None:
    """By `report` into a named file, and by `explain --report`."""
    path = tmp_path / "stalls.jsonl"
    path.write_bytes(EVENTS)
    page = tmp_path / "page.html"
    assert main(["report", str(path), "-o", str(page)]) == 0
    assert main(["explain", str(path), "--report"]) == 0
    capsys.readouterr()
    kept = tmp_path / "stalls.jsonl.explained" / "report.html"
    assert page.stat().st_size > 10_000 and kept.stat().st_size > 10_000


def test_a_log_by_its_place_alone(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "console"
    path.write_bytes(LOG)
    assert main(["explain", str(path)]) == 0
    out, err = capsys.readouterr()
    assert err == f"{path}: log\n" and "1 stuck task" in first_line(out)
    assert main(["explain", "--log", str(path)]) == 0
    again, err = capsys.readouterr()
    assert again == out and err == ""


class Input(io.TextIOWrapper):
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BufferedReader(io.BytesIO(data)))


@pytest.mark.parametrize("form", ["plain", *COMPRESSED])
@pytest.mark.parametrize(
    ("data", "kind"),
    [(LOG, "log"), (EVENTS, "events of a tracer, without a manifest")],
)
def test_standard_input(
    data: bytes,
    kind: str,
    form: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`-` accepts both, compressed or not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", Input(packed(form, data)))
    assert main(["explain", "-"]) == 0
    out, err = capsys.readouterr()
    assert err == f"standard input: {kind}\n" and out


@pytest.mark.parametrize("form", COMPRESSED)
def test_a_run_whose_events_were_compressed(
    form: str, tmp_path: Path, capsys: Capture
) -> None:
    """As it was stored away; nothing is unpacked into the run."""
    events = tmp_path / "stored" / "events"
    events.mkdir(parents=True)
    stored = events / f"stap.jsonl.{form}"
    stored.write_bytes(packed(form, EVENTS))
    assert main(["explain", str(tmp_path / "stored")]) == 0
    out, err = capsys.readouterr()
    assert err == "" and out == from_run(tmp_path, capsys)
    assert list(events.iterdir()) == [stored]


@pytest.mark.parametrize("form", COMPRESSED)
def test_what_is_cut_off_before_its_first_line(
    form: str, tmp_path: Path, capsys: Capture
) -> None:
    """The damage is named, not what it leaves nothing of."""
    path = tmp_path / "stalls"
    path.write_bytes(packed(form, EVENTS)[:40])
    assert main(["explain", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "damaged or cut off" in err and len(err.splitlines()) == 1


def test_what_is_none_of_them(tmp_path: Path, capsys: Capture) -> None:
    """One line for any other input."""
    for content in (b"", b"all is well\n", b'{"ev":"begin"'):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert main(["explain", str(path)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and len(err.splitlines()) == 1 and str(path) in err
    assert main(["explain", str(tmp_path / "gone")]) == 2
    assert "gone: no such run or file" in capsys.readouterr().err
