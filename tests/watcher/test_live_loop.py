# SPDX-License-Identifier: GPL-2.0-only
"""test_live_loop: a host is watched with an engine that prints a recorded run's events.

The engine is a program that shifts the events to now and ends as a launcher does; all
else is what runs on a host. tests/lab/test_watch.py has real engines.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from golden_runs import HOMES
from streamed import lines_of
from support import PROJECT
from writestall.events.run_directory import open_run

RUN = HOMES["page-lock-7.2"]
STALLS = 3
LIMIT_S = 30
TICKS = 4
# What stands for trace/trace: its words are ignored.
LAUNCHER = """#!{python}
import json, os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
lines = [json.loads(line) for line in open({events!r})]
events = [row for row in lines if row["ev"] not in ("begin", "end")]
def ends(row):
    return row["t_ns"] + (row.get("dur_ns") or 0) + (row.get("runq_ns") or 0)
late_ns = time.monotonic_ns() - max(map(ends, events))
def tell(row):
    row["t_ns"] += late_ns
    print(json.dumps(row, separators=(",", ":")), flush=True)
for row in (lines[0], *events):
    tell(row)
unread = "perf map of process 1 not read: its owner is user 0; 2 more before it"
print(f"trace: {{unread}}", file=sys.stderr, flush=True)
print("trace: reported all", file=sys.stderr, flush=True)
if {dies}:
    sys.exit("trace: it died")
signal.sigwait([signal.SIGINT])
print(json.dumps({{"ev": "end", "events": len(events), "lost": 0}}), flush=True)
"""
# The command, with that launcher and as if its engine worked here. It looks at what it
# costs at every tick, and says when it reads what of the kernel can be traced.
TRACEABLE = "available_filter_functions"
PROGRAM = """
import os, sys
sys.path[:0] = {paths!r}
from pathlib import Path
import recorder.engines as engines
import recorder.targets, watcher.live
def heard(event, arguments):
    if event == "open" and str(arguments[0]).endswith({traceable!r}):
        os.write(2, b"reads {traceable}\\n")
sys.addaudithook(heard)
watcher.live.COSTS_S = 0.0
recorder.targets.LAUNCHER = Path({launcher!r})
engines.choose = lambda options: (engines.ENGINES[0], "engine of a test")
from driver import checkout
from writestall.cli.main import main
sys.exit(main(sys.argv[1:], checkout=checkout))
"""


class Running:
    """A watch of this host; `output` is instead of the file that has all it says."""

    def __init__(
        self, place: Path, *words: str, dies: bool = False, output: int | None = None
    ) -> None:
        self.place = place
        plain = place / "events.jsonl"
        plain.write_bytes(b"".join(lines_of(open_run(RUN))))
        launcher = place / "launcher"
        text = LAUNCHER.format(python=sys.executable, events=str(plain), dies=dies)
        launcher.write_text(text)
        launcher.chmod(0o755)
        folders = ("base", "analysis", "lab", "vm", "trace", "repro")
        paths = [str(PROJECT / name) for name in folders]
        program = PROGRAM.format(
            paths=paths, launcher=str(launcher), traceable=TRACEABLE
        )
        given = ["--json", "--run-dir", str(place / "run")]
        # More than there can be: this host's own pressure writes no dump.
        given += ["--dump-dir", str(place / "dumps"), "--dump-pressure", "101", *words]
        self.output = place / "said"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "watch", *given],
            stdout=self.output.open("wb") if output is None else output,
            stderr=subprocess.STDOUT if output is None else self.output.open("wb"),
        )

    def lines(self) -> list[dict[str, Any]]:
        text = self.output.read_text()
        return [json.loads(line) for line in text.splitlines() if line[:1] == "{"]

    def until(self, wanted: Callable[[dict[str, Any]], bool], count: int = 1) -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while sum(map(wanted, self.lines())) < count:
            assert time.monotonic() < deadline_s, self.output.read_text()
            time.sleep(0.05)

    def until_said(self, text: str) -> None:
        self.until(lambda line: text in line["message"])

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)


Starting = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starting]:
    """Start watches, which are ended in any case."""
    started: list[Running] = []

    def make(*words: str, dies: bool = False, output: int | None = None) -> Running:
        started.append(Running(tmp_path, *words, dies=dies, output=output))
        return started[-1]

    yield make
    for one in started:
        one.process.kill()
        one.process.wait(LIMIT_S)


def _launchers(place: Path) -> list[int]:
    """The processes of the test's launcher."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(place / "launcher") in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def _gone(place: Path) -> bool:
    deadline_s = time.monotonic() + LIMIT_S
    while _launchers(place) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return not _launchers(place)


def test_every_stall_is_reported_and_the_end_sums_up(
    start: Starting, tmp_path: Path
) -> None:
    one = start()
    one.until(lambda line: "duration_ms" in line, STALLS)
    assert one.end() == 0
    lines = one.lines()
    assert lines[0]["message"] == "watch: engine of a test"
    reported = [line for line in lines if "duration_ms" in line]
    today = time.strftime("%Y-%m-%d")
    assert [line["time"][:10] for line in reported] == [today] * STALLS
    assert f"{STALLS} stalls, {STALLS} reported" in lines[-1]["message"]
    assert _gone(tmp_path)
    assert list((tmp_path / "run").iterdir()) == []


def _ask(place: Path) -> subprocess.CompletedProcess[str]:
    """The command that asks the watch of a place for a run directory."""
    words = ["watch", "--dump", "--run-dir", str(place / "run")]
    command = [sys.executable, str(PROJECT / "writestall"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_it_writes_a_run_directory_when_it_is_asked_and_by_a_stall(
    start: Starting, tmp_path: Path
) -> None:
    one = start("--dump-stall", "1s", "--dumps-a-day", "1")
    one.until_said("(stall): writestall report")
    assert _ask(tmp_path).stdout == (
        f"process {one.process.pid} writes a run directory and says where\n"
    )
    one.until_said("(asked): writestall report")
    assert one.end() == 0
    for place in (tmp_path / "dumps").iterdir():
        manifest = json.loads((place / "manifest.json").read_text())
        assert manifest["status"] == "complete"
        assert manifest["recorded"]["stall_ns"] == 50_000_000


@pytest.mark.parametrize(
    ("folder", "reported"),
    [
        (True, "(asked): writestall report"),
        (False, "no run directory for the trigger asked: "),
    ],
)
def test_what_was_asked_for_just_before_the_end_is_reported(
    start: Starting, tmp_path: Path, folder: bool, reported: str
) -> None:
    one = start("--dump-stall", "1h")
    one.until_said("reported all")
    if not folder:
        (tmp_path / "dumps").rmdir()
    _ask(tmp_path)
    assert one.end() == 0
    assert any(reported in line["message"] for line in one.lines())
    assert len(list(tmp_path.glob("dumps/*-asked/manifest.json"))) == folder


def _start_unread(start: Starting, *words: str) -> Running:
    """A watch whose reader takes the first of what it prints and goes."""
    reader, writer = os.pipe()
    one = start(*words, output=writer)
    os.close(writer)
    assert os.read(reader, 1)
    os.close(reader)
    return one


def test_without_a_reader_it_ends_in_order(start: Starting, tmp_path: Path) -> None:
    one = _start_unread(start)
    assert one.process.wait(LIMIT_S) == 0
    assert one.output.read_text() == ""
    assert _gone(tmp_path)
    assert list((tmp_path / "run").iterdir()) == []


def test_without_a_reader_the_metrics_go_on(start: Starting, tmp_path: Path) -> None:
    place = tmp_path / "host.prom"
    one = _start_unread(start, "--textfile", str(place))
    said = "watch: nobody reads the output any more; the metrics continue\n"
    deadline_s = time.monotonic() + LIMIT_S
    while said not in one.output.read_text() or not (
        place.exists() and "writestall_armed 1.0" in place.read_text()
    ):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    assert one.end() == 0
    assert one.output.read_text().count(said) == 1


def test_a_tracer_that_dies_ends_it(start: Starting, tmp_path: Path) -> None:
    one = start(dies=True)
    assert one.process.wait(LIMIT_S) == 1
    last = one.lines()[-1]
    assert "the tracer ended: exit 1; it said: trace: it died" in last["message"]
    assert last["priority"] == 3
    assert sum("duration_ms" in line for line in one.lines()) == STALLS


def test_killed_it_leaves_nothing_and_the_next_one_says_so(
    start: Starting, tmp_path: Path
) -> None:
    one = start()
    one.until_said("reported all")
    assert one.end(signal.SIGKILL) == -signal.SIGKILL
    assert _gone(tmp_path)
    time.sleep(1)  # the child that has ended the tracer ends, too
    again = start()
    again.until_said("the last watch was killed ")
    again.until_said("reported all")
    assert again.end() == 0


def test_two_at_once_are_refused(start: Starting) -> None:
    one = start()
    one.until_said("reported all")
    other = start()
    assert other.process.wait(LIMIT_S) == 2
    assert f"another watch runs, process {one.process.pid}" in other.output.read_text()
    assert one.end() == 0


@pytest.mark.parametrize("option", ["--run-dir", "--dump-dir"])
@pytest.mark.parametrize(
    ("place", "why"),
    [("launcher", "it is no folder"), ("launcher/x", "Not a directory")],
)
def test_a_folder_that_cannot_be_had_is_refused(
    start: Starting, tmp_path: Path, option: str, place: str, why: str
) -> None:
    one = start(option, str(tmp_path / place))
    assert one.process.wait(LIMIT_S) == 2
    said = f"watch: {option} {tmp_path / place}: {why}; name a folder that is there or"
    assert said in one.output.read_text()


def test_the_metrics_have_the_cost_of_both(start: Starting, tmp_path: Path) -> None:
    place = tmp_path / "host.prom"
    one = start("--textfile", str(place))
    one.until_said("armed after")
    deadline_s = time.monotonic() + LIMIT_S
    wanted = 'writestall_cpu_seconds_total{process="engine"}'
    while not (place.exists() and wanted in place.read_text()) or (
        "writestall_armed 1.0" not in place.read_text()
    ):
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    assert one.end() == 0
    assert 'writestall_resident_bytes{process="watch"}' in place.read_text()


def test_a_textfile_whose_folder_is_gone_is_reported(
    start: Starting, tmp_path: Path
) -> None:
    place = tmp_path / "metrics/host.prom"
    place.parent.mkdir()
    one = start("--textfile", str(place))
    one.until_said("armed after")
    place.parent.rename(tmp_path / "moved")
    one.until_said(f"--textfile {place}: No such file or directory")
    (tmp_path / "moved").rename(place.parent)
    one.until_said(f"--textfile {place}: written again")
    assert one.end() == 0


def test_what_can_be_traced_is_read_once(start: Starting, tmp_path: Path) -> None:
    place = tmp_path / "host.prom"
    one = start("--textfile", str(place))
    one.until_said("armed after")
    written: set[int] = set()
    deadline_s = time.monotonic() + LIMIT_S
    while len(written) < TICKS:
        assert time.monotonic() < deadline_s
        if place.exists():
            written.add(place.stat().st_mtime_ns)
        time.sleep(0.05)
    assert one.end() == 0
    assert one.output.read_text().count(f"reads {TRACEABLE}") == 1


def test_files_that_were_not_read_are_reported_and_counted(
    start: Starting, tmp_path: Path
) -> None:
    """By the launcher's lines, each of which may stand for several."""
    place = tmp_path / "host.prom"
    one = start("--textfile", str(place))
    said = "perf map of process 1 not read: its owner is user 0; 2 more before it"
    one.until(
        lambda line: line["message"] == f"watch: {said}" and line["priority"] == 4
    )
    deadline_s = time.monotonic() + LIMIT_S
    while "writestall_unread_files_total 3.0" not in place.read_text():
        assert time.monotonic() < deadline_s, place.read_text()
        time.sleep(0.05)
