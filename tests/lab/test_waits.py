# SPDX-License-Identifier: GPL-2.0-only
"""test_waits: programs whose slow requests wait for the disk through other threads or
processes, and programs whose requests do not.

Each program says itself for how long each request really waited for the disk
(tests/lab/waits/truths.py). `make test-waits` runs them all with both engines.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab_runs import Lab, analysed, make_lab
from support import PROJECT

WAITS = PROJECT / "tests/lab/waits"
DISK = """
    group_commit child_syncs logger_process tcp_server_syncs flock_of_syncer
    mutex_convoy event_loop_syncs
""".split()
NOT_DISK = """
    lock_of_sleeper mutex_of_worker tcp_server_sleeps request_sleeps request_computes
    shared_condition event_loop
""".split()
# Of a program's requests in sum.
MOST_WRONG = 0.02
LEAST_FOUND = 0.9
FEWEST_REQUESTS = 5
ENGINES = ("stap", "core")


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all the programs, those in C compiled for any machine."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler on this host (gcc)")
    folder: Path = tmp_path_factory.mktemp("waits")
    for path in WAITS.iterdir():
        if path.suffix == ".py":
            shutil.copy(path, folder)
        elif path.suffix == ".c":
            options = ("-O2", "-Wall", "-Werror", "-static", "-pthread")
            program = str(folder / path.stem)
            subprocess.run([compiler, *options, "-o", program, str(path)], check=True)
    return folder


def ran(name: str, share: Path, out: Path) -> Lab:
    """A run of a program with both engines."""
    in_python = (WAITS / f"{name}.py").exists()
    command = f"python3 /mnt/share/{name}.py" if in_python else f"/mnt/share/{name}"
    words = {"COMMAND": command, "SHARE": str(share), "DURATION": "14"}
    lab = make_lab(out, ENGINE="both", **words)
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    return lab


def judged(lab: Lab, engine: str) -> tuple[dict[str, Any], int, int]:
    """The complaints of an answer, and how many ns of them were really the disk's: at
    least, and at most.
    """
    done = analysed("explain", lab.run, "--engine", engine, "--json")
    assert done.returncode == 0, done.stderr
    complaints = json.loads(done.stdout)["summary"]["complaints"]
    (record,) = (lab.run / "application").rglob("requests.jsonl")
    requests = map(json.loads, record.read_text().splitlines())
    slow = [row for row in requests if row["dur_ns"] >= complaints["limit_ns"]]
    assert len(slow) == complaints["count"] >= FEWEST_REQUESTS
    assert sum(row["dur_ns"] for row in slow) == complaints["sum_ns"]
    least_ns, most_ns = (
        sum(row[name] for row in slow) for name in ("disk_ns", "calls_ns")
    )
    return dict(complaints), least_ns, most_ns


@pytest.mark.on_demand("make test-waits: a run of each program")
@pytest.mark.parametrize("name", DISK)
def test_the_disk_is_found_through_other_tasks(
    name: str, share: Path, tmp_path: Path
) -> None:
    lab = ran(name, share, tmp_path)
    for engine in ENGINES:
        found, least_ns, most_ns = judged(lab, engine)
        truth = (engine, least_ns, most_ns, found)
        sum_ns, in_calls_ns = found["sum_ns"], found["own_ns"] + found["others_ns"]
        assert in_calls_ns >= LEAST_FOUND * least_ns > 0, truth
        slack_ns = MOST_WRONG * sum_ns
        assert found["outside_ns"] <= sum_ns - least_ns + slack_ns, truth
        assert in_calls_ns + found["meanwhile_ns"] <= most_ns + slack_ns, truth


@pytest.mark.on_demand("make test-waits: a run of each program")
@pytest.mark.parametrize("name", NOT_DISK)
def test_a_bystander_is_not_blamed(name: str, share: Path, tmp_path: Path) -> None:
    lab = ran(name, share, tmp_path)
    for engine in ENGINES:
        found, _, most_ns = judged(lab, engine)
        assert most_ns == 0
        blamed_ns = found["own_ns"] + found["others_ns"] + found["meanwhile_ns"]
        assert blamed_ns <= MOST_WRONG * found["sum_ns"], (engine, found)
