# SPDX-License-Identifier: GPL-2.0-only
"""test_commands: any program as a workload, on this host and without a disk."""

from __future__ import annotations

import json
import re
import signal
import socket
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from labrun.scenario import reading, variants
from labrun.scenario.keys import Scenario
from labrun.scenario.kinds import Command
from labrun.workloads import commands, running
from labrun.workloads.clients import Place
from support import tool
from writestall_base.errors import StepError, UserError
from writestall_base.progress import Progress
from writestall_base.steps import Run
from writestall_base.stop import Stop

HEAD = """
name = "x"
purpose = "x"
duration_s = 1
kernel = {min = "4.19"}
filesystem = {type = "ext4"}
"""


def scenario(*workloads: dict[str, Any]) -> Scenario:
    """A scenario of these commands."""
    tables = "".join(
        "[[workload]]\nkind = 'command'\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items())
        for row in workloads
    )
    return reading.parse(HEAD + tables, "x.toml", "x")


class Lab:
    """A run of commands without a disk: its folder, and what it did."""

    def __init__(self, folder: Path) -> None:
        self.run = Run(folder / "run", Progress("none"), Stop())
        self.run.create()
        self.folder = folder / "lab"
        self.folder.mkdir()
        self.place = Place(folder, lambda _: self.folder, lambda _: None, 1)
        self.ticks = 0

    def tick(self) -> None:
        self.ticks += 1

    def carry_out(self, found: Scenario) -> None:
        """All stages that have to do with programs."""
        commands.prepare(self.run, found, self.place)
        with commands.serving(self.run, found, self.place) as servers:
            running.write(self.run, found, self.place, servers, self.tick)

    def text(self, name: str) -> str:
        return (self.run.folder / name).read_text()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_command_finds_its_folders_and_its_time(lab: Lab) -> None:
    given = (
        "pwd; echo $LAB $DURATION_S $LOAD_PERCENT; test -x $TREE/repro/run; echo $OUT"
    )
    lab.carry_out(scenario({"name": "app", "command": given}))
    out = lab.run.folder / "application/app"
    at = str(lab.folder)
    assert lab.text("writer.log").split() == [at, at, "1", "100", str(out)]
    assert lab.run.manifest["writer"]["exit_status"] == 0
    assert lab.run.manifest["status"] == "running"  # nothing failed


def test_what_is_prepared_is_there_before_the_servers_and_they_before_the_rest(
    lab: Lab,
) -> None:
    serve = "cat $LAB/made; echo ready now; echo $$ >pid; exec sleep 60"
    lab.carry_out(
        scenario(
            {"name": "client", "command": "cat $LAB/made; echo client"},
            {
                **{"name": "server", "command": serve, "ready_line": "ready"},
                **{
                    "prepare": "echo prepared >made",
                    "stop": "kill $(cat pid); tail --pid=$(cat pid) -f /dev/null",
                },
            },
        )
    )
    assert lab.text("writer.log") == "prepared\nclient\n"
    assert lab.text("writer-server.log") == "prepared\nready now\n"
    names = [step["name"] for step in lab.run.steps]
    assert names == [
        *("prepare-server", "start-server", "write", "stop-server", "requests")
    ]
    assert lab.run.manifest["load"][0]["exit_status"] == -signal.SIGTERM


@contextmanager
def free_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        port = taken.getsockname()[1]
    yield port


def test_a_port_that_accepts_is_ready(lab: Lab) -> None:
    with free_port() as port:
        serve = f"exec python3 -m http.server --bind localhost {port}"
        lab.carry_out(scenario({"name": "web", "command": serve, "ready_port": port}))
    # Nothing but a server: the run lasts as long as the workload.
    window = lab.run.manifest["window"]
    assert window["end_ns"] - window["start_ns"] >= 1e9
    assert lab.ticks >= 1
    assert lab.run.manifest["writer"]["exit_status"] == -signal.SIGTERM


def test_a_command_that_goes_on_is_ended(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "LATE_S", 0.5)
    loop = "trap 'echo told; exit 3' TERM; while :; do sleep 0.05; done"
    lab.carry_out(scenario({"name": "app", "command": loop}))
    assert lab.text("writer.log").endswith("told\n")
    assert lab.run.manifest["writer"]["exit_status"] == 3
    assert lab.run.manifest["writer"]["late_s"] >= 0.5
    assert lab.run.manifest["reason"] is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"command": "echo no; exit 4"}, "writer app: exit 4; no"),
        (
            {"command": "true", "prepare": "echo why; exit 1"},
            "writer-prepare: exit 1; why",
        ),
        (
            {"command": "echo bye", "ready_line": "hello"},
            "app ended before it served; bye",
        ),
    ],
)
def test_a_failure_is_reported_in_the_command_s_own_words(
    lab: Lab, keys: dict[str, str], said: str
) -> None:
    with pytest.raises(StepError, match=said):
        lab.carry_out(scenario({"name": "app"} | keys))
    assert said in lab.run.manifest["reason"]


def test_a_stop_that_fails_leaves_nothing_running(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "STOP_S", 1)
    endless = {"command": "echo $$ >pid; exec sleep 60", "stop": "echo why; exit 1"}
    with pytest.raises(StepError, match="writer-stop: exit 1; why"):
        lab.carry_out(scenario({"name": "app"} | endless))
    assert not Path("/proc", (lab.folder / "pid").read_text().strip()).exists()


def test_what_has_ended_is_not_stopped(lab: Lab) -> None:
    lab.carry_out(scenario({"name": "app", "command": "true", "stop": "exit 1"}))
    assert lab.run.manifest["reason"] is None


def test_recorded_requests_become_latencies(lab: Lab) -> None:
    row = {"t_ns": 5_000_000, "dur_ns": 2_000_000, "tid": 1, "what": "put"}
    late = row | {"intended_ns": 4_000_000}
    given = (
        f"printf '%s\\n' '{json.dumps(row)}' '{json.dumps(late)}' >$OUT/requests.jsonl"
    )
    lab.carry_out(scenario({"name": "app", "command": given}))
    assert "2 requests, slowest 3.0 ms" in lab.run.steps[-1]["detail"]
    corrected, plain = lab.text("writer.hlog"), lab.text("writer-service.hlog")
    assert ",3000000.0," in corrected
    assert ",2000000.0," in plain


@pytest.mark.parametrize("line", ["{}", "x", "[1]", '{"t_ns": "a", "dur_ns": 1}'])
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"t_ns": 1, "dur_ns": 1}\n' + line + "\n")
    with pytest.raises(StepError, match=r"requests.jsonl:2: want \{\"t_ns\": N"):
        commands.save_requests(path, tmp_path / "writer")


def test_a_port_out_of_range_is_refused() -> None:
    with pytest.raises(UserError, match=r"ready_port: want 1 to 65535, got 0"):
        scenario({"name": "app", "command": "true", "ready_port": 0})


def test_a_command_finds_its_own_variables(lab: Lab) -> None:
    work = {"name": "app", "command": "echo $GC_LOG $N $DURATION_S"}
    tables = "environment = { GC_LOG = 'a b', N = 7 }\n"
    found = scenario(work)
    assert found.workload[0].environment == {}  # type: ignore[union-attr]
    text = HEAD + f"[[workload]]\nkind = 'command'\nname = 'app'\n{tables}"
    text += f"command = {json.dumps(work['command'])}\n"
    lab.carry_out(reading.parse(text, "x.toml", "x"))
    assert lab.text("writer.log").split() == ["a", "b", "7", "1"]


VARIED = f"""{HEAD}
[[workload]]
kind = "command"
name = "app"
command = "true"
environment = {{ GC_LOG = "disk", KEPT = 1 }}
[[workload]]
name = "gc"
write_bytes = 200
interval_us = 1_000
[[variant]]
name = "memory"
purpose = "x"
environment = {{ GC_LOG = "memory" }}
[variant.expect]
chain = []
stalled_writes_min = 0
stall_ms_min = 0
"""


def test_a_variant_changes_variables_of_commands() -> None:
    found = variants.chosen(reading.parse(VARIED, "x.toml", "x"), "memory")
    given = {"GC_LOG": "memory", "KEPT": 1}
    assert isinstance(found.workload[0], Command)
    assert found.workload[0].environment == given
    works = variants.as_read(tomllib.loads(VARIED), "memory")["workload"]
    assert [work.get("environment") for work in works] == [given, None]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("KEPT", "LAB", "workload[0].environment.LAB: it is set in any case"),
        ("KEPT", "kept", "a variable's name like GC_LOG"),
        ('{ GC_LOG = "memory" }', "{ OUT = 1 }", "variant[0].environment.OUT: it is"),
        ('kind = "command"\nname = "app"\ncommand = "true"', "", "workload[0]"),
    ],
)
def test_variables_that_do_not_fit_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        reading.parse(VARIED.replace(old, new), "x.toml", "x")


def test_a_list_of_jars_that_is_not_there_is_named() -> None:
    text = f"{HEAD}machine = {{ jars = 'kafak' }}\n"
    text += "[[workload]]\nkind = 'command'\nname = 'app'\ncommand = 'true'\n"
    with pytest.raises(UserError, match=r"machine.jars: .*did you mean kafka"):
        reading.parse(text, "x.toml", "x")


def test_a_command_line_is_a_scenario(tmp_path: Path) -> None:
    words = ["--command", 'it\'s "quoted"', "--fs", "xfs", "--packages", "etcd-server"]
    done = tool("repro/run", *words, "--stop", "true", "--print")
    assert done.returncode == 0, done.stderr
    found = reading.parse(done.stdout, "x", "command")
    (work,) = found.workload
    assert isinstance(work, Command)
    assert (work.command, work.stop) == ('it\'s "quoted"', "true")
    assert found.filesystem.type == "xfs"
    assert found.machine.packages == ("etcd-server",)
    assert found.expect is None
    assert found.inject[0].delay_us == 300_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["page-lock", "--stop", "x"], "--stop needs --command"),
        (["page-lock", "--command", "x"], "name a scenario"),
        (["--command", "x", "--fs", "zfs"], "'zfs' is not known"),
        (["--command", "x", "--profile", "ssd"], "profile 'ssd' is not known"),
        (["--command", "x", "--packages", "A"], "packages[0]: want a package's name"),
    ],
)
def test_options_that_do_not_fit_get_one_line(words: list[str], said: str) -> None:
    done = tool("repro/run", *words, "--check")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
