# SPDX-License-Identifier: GPL-2.0-only
"""This test will export runs in every format: complete files, or one clear line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import build
from refusals import refused
from writestall.cli.main import main
from writestall.export.formats import FOLDER, FORMATS, TEXT

Capture = pytest.CaptureFixture[str]
NEEDS_A_STALL = [name for name, row in FORMATS.items() if not row.empty]
ESCAPE = "\x1b]0;owned\x07"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with one stalled write."""
    return build.run_dir(tmp_path / "run", build.cascade())


def quiet_run(tmp_path: Path) -> Path:
    """A run in which nothing stalled."""
    return build.run_dir(tmp_path / "quiet", build.Events().end())


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_or_folder_and_nothing_beside_it(
    run: Path, tmp_path: Path, name: str, capsys: Capture
) -> None:
    """The target exists, no temporary file is left, and nothing is printed."""
    here = tmp_path / "here"
    here.mkdir()
    assert main(["export", str(run), "--to", name, "-o", str(here / "out")]) == 0
    assert [path.name for path in here.iterdir()] == ["out"]
    assert (here / "out").is_dir() == (FORMATS[name].kind == FOLDER)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", FORMATS)
def test_text_is_printed_and_the_rest_wants_a_name(
    run: Path, name: str, capsys: Capture
) -> None:
    """Text may go to standard output; binary formats and folders need a name."""
    argv = ["export", str(run), "--to", name]
    if FORMATS[name].kind == TEXT:
        assert main(argv) == 0
        assert capsys.readouterr().out.endswith("\n")
    else:
        assert "with -o" in refused(argv, capsys)


@pytest.mark.parametrize("name", NEEDS_A_STALL)
def test_nothing_stalled(tmp_path: Path, name: str, capsys: Capture) -> None:
    """One line, no file."""
    out = tmp_path / "out"
    argv = ["export", str(quiet_run(tmp_path)), "--to", name, "-o", str(out)]
    assert "no write stalled" in refused(argv, capsys)
    assert not out.exists()


def test_a_quiet_run_has_its_metrics(tmp_path: Path, capsys: Capture) -> None:
    """Zeros; otherwise the textfile of the previous run would remain."""
    assert main(["export", str(quiet_run(tmp_path)), "--to", "prometheus"]) == 0
    assert "writestall_stall_seconds_count" in capsys.readouterr().out


def test_a_quiet_run_has_no_tables(tmp_path: Path) -> None:
    """A folder without tables, so that many runs can be exported in one way."""
    out = tmp_path / "out"
    assert (
        main(["export", str(quiet_run(tmp_path)), "--to", "parquet", "-o", str(out)])
        == 0
    )
    assert list(out.iterdir()) == []


def test_an_unknown_format(run: Path, capsys: Capture) -> None:
    """The known ones are named, with the status of bad usage."""
    assert main(["export", str(run), "--to", "excel"]) == 2
    assert "perfetto" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["csv", "perfetto", "parquet"])
def test_a_target_that_cannot_be(
    run: Path, tmp_path: Path, name: str, capsys: Capture
) -> None:
    """A missing folder, or a folder or file at the target, whose content stays."""
    argv = ["export", str(run), "--to", name, "-o"]
    assert "gone" in refused([*argv, str(tmp_path / "gone" / "out")], capsys)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").write_text("mine")
    assert "taken" in refused([*argv, str(taken)], capsys)
    assert [path.name for path in taken.iterdir()] == ["mine"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "taken"]


def test_an_old_file_is_replaced_through_its_link(run: Path, tmp_path: Path) -> None:
    """The link remains; its target gets the new content and the usual permissions."""
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    assert main(["export", str(run), "--to", "csv", "-o", str(link)]) == 0
    assert link.is_symlink() and real.read_text().startswith("run,")


def test_a_pipe_is_written_to_and_stays(run: Path, tmp_path: Path) -> None:
    """Special files are not replaced."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as cat:
        assert main(["export", str(run), "--to", "csv", "-o", str(pipe)]) == 0
        assert cat.stdout is not None
        assert cat.stdout.read().startswith(b"run,")
    assert pipe.is_fifo()


def test_a_cut_off_run_is_exported_as_far_as_it_goes(
    run: Path, capsys: Capture
) -> None:
    """Losses are reported outside the data if the format has no place for them."""
    events = run / "events" / "stap.jsonl"
    content = events.read_bytes()
    events.write_bytes(content[: content.rstrip().rindex(b"\n") + 20])
    assert main(["export", str(run), "--to", "folded"]) == 0
    out, err = capsys.readouterr()
    assert out and "note" not in out
    assert "note: events/stap.jsonl: no end line: the tracer was cut off" in err


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_that_cannot_be_read(tmp_path: Path, name: str, capsys: Capture) -> None:
    """One line, no file."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    (run / "events" / "stap.jsonl").write_bytes(b"garbage\n")
    argv = ["export", str(run), "--to", name, "-o", str(tmp_path / "out")]
    assert "stap.jsonl" in refused(argv, capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_names_break_no_format(tmp_path: Path, name: str) -> None:
    """Names with escapes, quotes, newlines and separators: every format keeps them."""
    events = build.Events()
    comm = f'a;b "{ESCAPE}\\\n,=1'
    events.block(300, 0, 500, "mystery", (7, comm), "unlocks", comm=comm)
    events.write(300, 0, 500, 500, comm=comm, path=f"=cmd|'/c'!A1{ESCAPE}\n")
    run = build.run_dir(tmp_path / f"r{ESCAPE}\udcff\n", events.end())
    assert main(["export", str(run), "--to", name, "-o", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_beyond_reason(tmp_path: Path, name: str, capsys: Capture) -> None:
    """The largest possible inode is valid; anything larger is one clear line."""
    events = build.Events()
    events.block(300, 0, 500, "journal_buffer", None)
    events.write(300, 0, 500, 500, ino=2**64 - 1, offset=2**63 - 1)
    run = build.run_dir(tmp_path / "run", events.end())
    assert main(["export", str(run), "--to", name, "-o", str(tmp_path / "a")]) == 0
    capsys.readouterr()
    events.rows[2]["bytes"] = 10**30
    run = build.run_dir(tmp_path / "again", events)
    argv = ["export", str(run), "--to", name, "-o", str(tmp_path / "b")]
    if main(argv) != 0:
        out, err = capsys.readouterr()
        assert out == "" and "stap.jsonl" in err and err.count("\n") == 1
        assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_leaves_nothing(
    run: Path,
    tmp_path: Path,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    """Partial output is removed, and an existing file stays."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    old = tmp_path / "out"
    if FORMATS[name].kind == FOLDER:
        monkeypatch.setattr("writestall.export.to_parquet._write", full)
    else:
        old.write_text("old")
        monkeypatch.setattr("writestall_base.folders.Drafts.become", full)
    line = refused(["export", str(run), "--to", name, "-o", str(old)], capsys)
    assert "out: No space left on device" in line
    is_folder = FORMATS[name].kind == FOLDER
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == (["run"] if is_folder else ["out", "run"])
    assert is_folder or old.read_text() == "old"


_LIBRARIES = """
import sys
from writestall.cli.main import main
status = main(sys.argv[1:])
heavy = {"rich", "perfetto", "google", "pyarrow", "matplotlib", "numpy"}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("argv", "loaded"),
    [
        (["explain"], []),
        (["export", "--to", "csv"], []),
        (["export", "--to", "prometheus"], []),
        (["export", "--to", "hlog"], []),
        (["hist"], ["rich"]),
        (["heatmap"], ["rich"]),
    ],
)
def test_libraries_are_loaded_by_who_needs_them(
    run: Path, argv: list[str], loaded: list[str]
) -> None:
    """A command does not load libraries that it does not use."""
    command = [sys.executable, "-c", _LIBRARIES, argv[0], str(run), *argv[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == repr(loaded)


def test_a_missing_library_is_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """One line with the remedy."""
    for name in list(sys.modules):
        if (
            name == "writestall.export.to_parquet"
            or name.partition(".")[0] == "pyarrow"
        ):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    argv = ["export", str(run), "--to", "parquet", "-o", str(tmp_path / "out")]
    assert "needs pyarrow" in refused(argv, capsys)
    assert not (tmp_path / "out").exists()
