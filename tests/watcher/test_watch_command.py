# SPDX-License-Identifier: GPL-2.0-only
"""test_watch_command: a replayed run is reported line by line; mistakes are a line."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from watch_process import LIMIT_S, RUN, piped, watch

from support import PROJECT
from watcher import cli, options
from writestall_base.errors import UserError


def test_a_run_is_reported_line_by_line() -> None:
    done = watch("--replay", RUN)
    assert (done.returncode, done.stderr) == (0, "")
    *stalls, last = done.stdout.splitlines()
    manifest = json.loads((RUN / "manifest.json").read_text())
    day = time.gmtime(manifest["clock"]["realtime_ns"] / 1e9)
    assert stalls[0].startswith(time.strftime("%Y-", day))
    assert all("root: " in line for line in stalls)
    assert last.startswith(
        f"watch: watched: {len(stalls)} stalls, {len(stalls)} reported"
    )


def test_json_has_a_stall_a_line_with_its_fields() -> None:
    done = watch("--replay", RUN, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows[0]["root"] == "vdb slow for jbd2"
    assert rows[0]["message"].startswith("latwriter/")
    kinds = {name: type(value) for name, value in rows[0].items()}
    numbers = "tid", "pid", "start_monotonic_ns", "duration_ms", "explained_percent"
    assert {kinds[name] for name in numbers} == {int}
    assert kinds["holder_inferred"] is bool


def test_the_tree_is_that_of_explain() -> None:
    done = watch("--replay", RUN, "--tree")
    assert "+- " in done.stdout
    assert done.stdout.count("explained 9") + done.stdout.count("explained 1") >= 4


def test_lines_of_a_tree_name_their_stall_in_json() -> None:
    done = watch("--replay", RUN, "--json", "--tree")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    stalls = [(row["tid"], row["start_monotonic_ns"]) for row in rows if "root" in row]
    own = [row for row in rows if "+- " in row["message"]]
    assert {(row["tid"], row["start_monotonic_ns"]) for row in own} == set(stalls)


def test_a_pipe_of_events_is_followed_to_its_end() -> None:
    engine = next((RUN / "events").glob("*.jsonl*"))
    text = f"zcat -f {engine} | {sys.executable} {PROJECT}/writestall watch --replay"
    done = subprocess.run(
        ["sh", "-c", f"{text} /dev/stdin"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "watched: 6 stalls, 6 reported" in done.stdout


def test_a_textfile_has_the_metrics(tmp_path: Path) -> None:
    place = tmp_path / "writestall.prom"
    assert watch("--replay", RUN, "--textfile", place).returncode == 0
    assert 'writestall_stall_seconds_count{call="write"' in place.read_text()


@pytest.mark.parametrize(
    ("output", "status", "said"),
    [
        ("> /dev/full", 1, "watch: the output: No space left on device; lines are "),
        ("| true", 0, ""),
    ],
)
def test_an_output_that_takes_nothing_is_reported(
    output: str, status: int, said: str
) -> None:
    done = piped(f"WATCH --replay {RUN} {output}")
    assert done.returncode == status
    assert done.stderr[: len(said)] == said
    assert len(done.stderr.splitlines()) == status


@contextmanager
def _held(*words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A replay that was reported all of a pipe which stays open; and its port."""
    reader, writer = os.pipe()
    command = [sys.executable, str(PROJECT / "writestall"), "watch", "--replay"]
    command += [f"/dev/fd/{reader}", "--listen", "127.0.0.1:0", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, pass_fds=[reader]
    )
    os.close(reader)
    assert process.stdout
    try:
        line = process.stdout.readline()
        assert "metrics: http://127.0.0.1:" in line
        yield process, int(line.rpartition(":")[2].partition("/")[0])
    finally:
        os.close(writer)
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT_S)
        process.stdout.close()


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", 0), ("0.0.0.0", 1)])
def test_who_listens_to_other_hosts_is_warned(host: str, warned: int) -> None:
    done = watch("--replay", RUN, "--listen", f"{host}:0")
    assert done.stdout.count("other hosts may read the metrics") == warned


def test_metrics_are_served_in_both_formats() -> None:
    with _held() as (_, port):
        address = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as plain:
            assert b"# TYPE writestall_events_total counter" in plain.read()
        wanted = {"Accept": "application/openmetrics-text; version=1.0.0"}
        asked = urllib.request.Request(address, headers=wanted)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            assert answer.read().endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "--replay /no/such": "--replay /no/such: no such run or file",
        "--replay /tmp --listen x": "'x': want HOST:PORT, like 127.0.0.1:9709",
        "--replay /tmp --listen a:1 --textfile b": "give one of them",
        "--stall 5": "like 50ms or 2m, up to 1h (units: ns, us, ms, s, m, h)",
        "--textfile x.txt": "x.txt: node_exporter reads no file but NAME.prom",
        "-p 4194304": "--pid 4194304: no such process; ps -e lists them",
        "--replay /tmp --stall 50ms": "--replay traces nothing: leave out --stall",
        "--replay /tmp -p 1 --floor 1s": "traces nothing: leave out --pid, --floor",
        "--replay /tmp --engine auto": "leave out --engine",
        "--replay /tmp --dumps-a-day 5": "leave out --dumps-a-day",
        "--dump --replay /tmp": "asks a watch that runs already: leave out --replay",
        "--dump --json": "leave out --json",
        "--dump --run-dir /no/such": "no watch runs here: start one with sudo",
        "--dumps-a-day 0": "want a whole number, 1 or more",
    }.items(),
)
def test_mistakes_are_one_line_with_the_remedy(words: str, said: str) -> None:
    done = watch(*words.split())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--replay", "{empty}"), "manifest.json"),
        (
            ("--replay", RUN, "--textfile", "{empty}/no/x.prom"),
            "no/x.prom: No such file or directory; name a file in a folder that can",
        ),
        (("--replay", RUN, "--listen", "127.0.0.1:{taken}"), "name another port"),
        (("--replay", RUN, "--listen", "192.0.2.1:9709"), "Cannot assign requested"),
    ],
)
def test_what_cannot_be_had_here_is_refused(
    words: tuple[str | Path, ...], said: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        given = [str(word).format(empty=tmp_path, taken=taken) for word in words]
        done = watch(*given)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("watch: ")
    assert said in line


def test_each_option_is_known_to_what_it_may_be_in_vain_for() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    options.arguments(parser)
    names = {action.dest for action in parser._actions}
    assert names == {*options.LIVE, *options.TOLD, "run_dir", "dump"}
    assert {*options.DEFAULTS} <= names


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_have", lambda names: names != cli.METRICS)
    args = argparse.Namespace(listen=("127.0.0.1", 1), textfile=None, replay=None)
    with pytest.raises(UserError, match="install python3-prometheus-client"):
        cli.check(args)
