# SPDX-License-Identifier: GPL-2.0-only
"""This test will plant links, FIFOs, sockets and devices in runs, as a stranger may.

Each command refuses such an input in one line, waits for nothing, and writes through no
link: what is not in the run stays as it was.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import build
from support import PROJECT
from writestall.cli.main import main
from writestall.course import work
from writestall_base import files, folders
from writestall_base.errors import UserError

Capture = pytest.CaptureFixture[str]

# One that waits for a pipe never ends. Starting from a cold disk that was busy, polars'
# import among it, took more than 30 s once.
LIMIT_S = 120
NAMED = "not a regular file"
MINE = "this is not yours\n"
# Each command that reads a run; {out} is the user's own.
COMMANDS = (
    "explain {run}",
    "explain {run} --report",
    "explain {run} --json",
    "explain {run} --other",
    "report {run}",
    "report {run} -o {out}",
    "check {run}",
    "expect {run}",
    "hist {run}",
    "heatmap {run}",
    "compare-engines {run}",
    "compare-variants {above}",
    "export {run} --to csv",
    "export {run} --redact -o {out}",
)
# What the analysis and the lab write into a run, or into a folder of runs.
WRITTEN = (
    *("chains.json", "summary.json", "report.html", "report.txt", "answer.txt"),
    *("manifest.json.new", "manifest.json.part", "machine.json", "console.log"),
)
READ = (
    *("manifest.json", "truth.jsonl", "writer.jsonl", "writer.hlog"),
    *("writer-service.hlog", "kernel.log", "kallsyms.gz", "throttled.jsonl"),
    *("events/stap.jsonl", "events/bpftrace.jsonl", "events/core.jsonl.gz"),
    *("symbols/files.json", "symbols/perf-7.map", "application/db/postgresql.log"),
    *("application/db/jvm-threads.txt", "application/db/requests.jsonl"),
)
FOLDERS = ("events", "symbols", "application", "application/db")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run in a folder of its own, with all that a reader looks for."""
    run = build.run_dir(tmp_path / "runs/run", build.cascade())
    for name in READ:
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        if not (run / name).exists():
            (run / name).write_bytes(b"")
    return run


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of the reader's, outside the run."""
    path = tmp_path / "mine"
    path.write_text(MINE)
    return path


def _socket(place: Path) -> None:
    # The path of a socket may have 107 characters (include/uapi/linux/un.h).
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as one:
        one.bind(f"{short}/s")
        shutil.move(f"{short}/s", place)


def _device(place: Path) -> None:
    if os.geteuid():
        pytest.skip("mknod(2) needs root")
    os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 5))


def _link(place: Path) -> None:
    place.symlink_to(Path("/etc/hostname"))


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "link": (_link, "a symbolic link"),
    "FIFO": (os.mkfifo, "a FIFO"),
    "socket": (_socket, "a socket"),
    "device": (_device, "a device"),
}


@pytest.fixture
def alarm() -> Iterator[None]:
    """End a command that waits: SIGALRM's default action ends the tests."""
    signal.alarm(LIMIT_S)
    yield
    signal.alarm(0)


def _words(command: str, run: Path) -> list[str]:
    places = {"run": run, "above": run.parent, "out": run.parent.parent / "out"}
    return [word.format(**places) for word in command.split()]


def _refused(command: str, run: Path, place: Path, kind: str, capsys: Capture) -> None:
    capsys.readouterr()
    assert main(_words(command, run)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    what = f"{place}: {kind}, {NAMED}; a run directory holds files and folders only"
    assert err == f"writestall: {what}\n"


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READ)
def test_an_input_that_is_no_file_is_named(
    name: str, kind: str, run: Path, capsys: Capture
) -> None:
    make, message = KINDS[kind]
    (run / name).unlink()
    make(run / name)
    _refused("explain {run}", run, run / name, message, capsys)
    _refused("export {run} --redact -o {out}", run, run / name, message, capsys)


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_refuses_them(command: str, run: Path, capsys: Capture) -> None:
    place = run / "events/stap.jsonl"
    for make, message in (KINDS["link"], KINDS["FIFO"]):
        place.unlink()
        make(place)
        _refused(command, run, place, message, capsys)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_a_link_is_named(
    name: str, run: Path, tmp_path: Path, capsys: Capture
) -> None:
    (run / name).rename(tmp_path / "elsewhere")
    (run / name).symlink_to(tmp_path / "elsewhere")
    _refused("explain {run}", run, run / name, "a symbolic link", capsys)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_through_a_link(
    command: str, name: str, run: Path, mine: Path, capsys: Capture
) -> None:
    (run / name).symlink_to(mine)
    _refused(command, run, run / name, "a symbolic link", capsys)
    assert mine.read_text() == MINE


@pytest.mark.parametrize("name", ["variants.json", "variants.txt"])
def test_no_table_is_written_through_a_link(name: str, run: Path, mine: Path) -> None:
    (run.parent / name).symlink_to(mine)
    assert main(["compare-variants", str(run.parent)]) == 0
    assert mine.read_text() == MINE


@pytest.mark.parametrize("name", WRITTEN)
def test_a_link_that_comes_later_is_replaced(
    name: str, run: Path, mine: Path, tmp_path: Path
) -> None:
    """Whatever was looked at before: a write itself follows none."""
    (run / name).symlink_to(mine)
    files.save_inside(run, name, b"new")
    assert mine.read_text() == MINE
    assert not (run / name).is_symlink() and (run / name).read_bytes() == b"new"
    assert not list(run.glob(".*"))
    moved = run.rename(tmp_path / "moved")
    run.symlink_to(moved)
    files.save_inside(run, name, b"newer")  # the user named this one
    assert (moved / name).read_bytes() == b"newer"
    with pytest.raises(UserError, match=r"Not a directory|Too many levels"):
        files.save_inside(run, name, b"no", link=False)


def test_a_run_that_the_user_links_is_read_and_written(
    run: Path, tmp_path: Path
) -> None:
    link = tmp_path / "latest"
    link.symlink_to(run)
    assert main(["explain", str(link), "--report"]) == 0
    assert (run / "chains.json").is_file() and (run / "report.html").is_file()


def test_a_link_to_a_run_is_no_run_of_a_folder(run: Path, capsys: Capture) -> None:
    """`latest` would count a run twice; another may lead anywhere."""
    (run.parent / "latest").symlink_to(run.name)
    assert main(["compare-variants", str(run.parent), "--json"]) == 0
    assert capsys.readouterr().out.count('"run":') == 1
    with pytest.raises(UserError, match="no run there"):
        work._run(run)


def test_events_alone_follow_the_users_link_alone(
    run: Path, mine: Path, tmp_path: Path, capsys: Capture
) -> None:
    """The file was named; the folder beside it was not."""
    place = tmp_path / "stalls"
    place.symlink_to(run / "events/stap.jsonl")
    assert main(["explain", str(place)]) == 0
    beside = tmp_path / "stalls.explained"
    assert (beside / "chains.json").is_file()
    shutil.rmtree(beside)
    beside.symlink_to(mine.parent)
    capsys.readouterr()
    assert main(["explain", str(place)]) == 2
    assert "stalls.explained/chains.json: " in capsys.readouterr().err
    assert not (mine.parent / "chains.json").exists()


def test_an_answer_of_the_course_is_not_written_through(mine: Path) -> None:
    place = mine.parent / "lab"
    work.begin(place, work.Question(1, "", True))
    for name in (work.QUESTION, work.ANSWER):
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(mine)
        with pytest.raises(UserError, match=NAMED):
            work.read(place / name, work.Question)
        work.write(place / name, work.Question(1, "", True))
    assert mine.read_text() == MINE


def test_a_copy_has_no_links(run: Path, mine: Path, tmp_path: Path) -> None:
    (run / "more").symlink_to(mine)
    with pytest.raises(UserError, match=NAMED):
        folders.copy(run, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


NAMES = st.sampled_from([*WRITTEN, *READ])


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.tuples(NAMES, st.sampled_from(["link", "FIFO"])), max_size=4))
def test_whatever_is_planted_nothing_outside_changes(
    tmp_path_factory: pytest.TempPathFactory, planted: list[tuple[str, str]]
) -> None:
    top = tmp_path_factory.mktemp("drawn")
    mine = top / "mine"
    mine.write_text(MINE)
    run = build.run_dir(top / "run", build.cascade())
    for name, kind in planted:
        place = run / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        if kind == "link":
            place.symlink_to(mine)
        else:
            os.mkfifo(place)
    assert main(["explain", str(run), "--report"]) == (2 if planted else 0)
    assert mine.read_text() == MINE
    assert sorted(path.name for path in top.iterdir()) == ["mine", "run"]


def test_a_replay_refuses_them(run: Path) -> None:
    """`watch` has a process of its own: it changes signals."""
    place = run / "events/stap.jsonl"
    place.unlink()
    os.mkfifo(place)
    command = [sys.executable, str(PROJECT / "writestall"), "watch", "--replay"]
    done = subprocess.run(
        [*command, str(run)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 2
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith(f"watch: {place}: a FIFO, {NAMED}")
