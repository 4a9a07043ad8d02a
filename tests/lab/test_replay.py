# SPDX-License-Identifier: GPL-2.0-only
"""test_replay: record a machine with a disk that is slow now and then, and replay that
disk in the lab, which knows nothing but the run.

`make test` leaves it out: two machines each, for a minute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from lab_runs import analysed
from machine import accel, image, recipe
from support import tool
from test_record import recorded

SECONDS = 14
# What was recorded, too.
WRITES = '"$TREE"/tests/scripts/direct-writes.sh "$DURATION_S"'
FIGURE = re.compile(r"(\d+) of (\d+) recorded episodes came back")


@pytest.mark.on_demand("a machine that is recorded, and one that replays it")
def test_the_episodes_of_a_recorded_disk_come_back(
    artefacts: Callable[[str], Path], tmp_path: Path
) -> None:
    kernel = recipe.load().kernel
    recorded(kernel, artefacts(kernel), tmp_path, ("profile",), ("core",))
    host = tmp_path / "profile-core"
    series = _series(host, tmp_path / "series.json")
    assert series["lost"] == 0
    assert series["disks"][0]["name"] == "vdb"
    redacted = tmp_path / "redacted"
    assert analysed("export", host, "--redact", "-o", str(redacted)).returncode == 0
    assert _series(redacted, tmp_path / "redacted.json") == series

    words = ("--command", WRITES, "--duration", str(SECONDS))
    printed = replayed(host, kernel, tmp_path / "out", *words)
    found = FIGURE.search(printed)
    assert found, printed[-3000:]
    assert int(found[2]) >= 3 and int(found[1]) >= 0.95 * int(found[2])
    print(f"replay: {found[0]}")


@pytest.fixture(scope="module")
def program(
    artefacts: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A recording of two threads of a Python program, which write and sync below the
    same disk."""
    kernel, folder = recipe.load().kernel, tmp_path_factory.mktemp("recorded")
    recorded(kernel, artefacts(kernel), folder, ("calls",), ("core",))
    return folder / "calls-core"


@pytest.mark.on_demand("a machine that is recorded, and one that replays it")
def test_the_calls_of_a_recorded_program_come_back(
    program: Path, tmp_path: Path
) -> None:
    """Which of few calls stalls is chance where an episode begins (docs/replay.md): the
    sums over all operations are what must come back.
    """
    kernel = recipe.load().kernel
    printed = replayed(program, kernel, tmp_path / "out", good=(0, 1))
    episodes = FIGURE.search(printed)
    assert episodes and int(episodes[1]) >= 0.75 * int(episodes[2]), printed[-3000:]
    assert not re.search(r"^  calls( a second)? .*FAILED", printed, re.M), printed[
        -3000:
    ]
    for name in ("stalls", "stalled ms"):
        pairs = re.findall(rf"^  \w+: {name} +([0-9.]+) +([0-9.]+)", printed, re.M)
        was, now = (sum(map(float, side)) for side in zip(*pairs, strict=True))
        assert was >= 5 and abs(now - was) <= 0.4 * was, printed[-3000:]


@pytest.mark.on_demand("a machine that is recorded, and one that replays it")
def test_a_disk_without_delays_comes_back(
    artefacts: Callable[[str], Path], tmp_path: Path
) -> None:
    """What the host does to its disk meanwhile is recorded, and replayed, too."""
    kernel = recipe.load().kernel
    recorded(kernel, artefacts(kernel), tmp_path, ("healthy",), ("core",))
    printed = replayed(tmp_path / "healthy-core", kernel, tmp_path / "out")
    for came_back in ("recorded episodes", "figures of the calls"):
        found = re.search(rf"^as expected: \d+ of \d+ {came_back}", printed, re.M)
        assert found, printed[-3000:]


@pytest.mark.on_demand("a machine that is recorded, and one that compares on it")
def test_file_systems_are_compared_on_a_recording(
    program: Path, tmp_path: Path
) -> None:
    """Every option's runs make all of its calls on its disk."""
    kernel = recipe.load().kernel
    words = ["--fs", "ext4-default,xfs-default", "--rounds", "1", "--trial"]
    words += ["--cut", "0", "--objective", "over 65ms < 1%", "--name", "found"]
    done = in_lab("compare", program, kernel, tmp_path, *words)
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"--from {program}" in done.stdout
    calls = calls_of(program, tmp_path)
    for name in ("ext4-default", "ext4-default-again", "xfs-default"):
        requests = tmp_path / f"compare/found/{name}/1/application/application"
        lines = (requests / "requests.jsonl").read_text().splitlines()
        assert 0.99 * calls <= len(lines) <= calls
        assert max(json.loads(line)["dur_ns"] for line in lines) >= 200_000_000


def replayed(
    host: Path, kernel: str, out: Path, *words: str, good: tuple[int, ...] = (0,)
) -> str:
    """Replay a recording in the lab; what it printed."""
    done = in_lab("lab", host, kernel, out, *words)
    printed = done.stdout + done.stderr
    assert done.returncode in good, printed[-5000:]
    print(printed)
    return printed


def in_lab(
    command: str, host: Path, kernel: str, out: Path, *words: str
) -> CompletedProcess[str]:
    """`writestall lab` or `compare` on a recording."""
    known = recipe.load(kernel)
    counting = accel.counting(known, image.kernel(known), "icount")
    return tool(
        *("writestall", command, "--from", str(host), *words),
        *("--engine", "core", "--kernel", kernel),
        *("--out", str(out), "--accel", counting),
    )


def calls_of(run: Path, folder: Path) -> int:
    """How many calls a recording has, by the head of their file (docs/replay.md)."""
    target = folder / "calls.bin"
    done = tool("writestall", "export", str(run), "--to", "calls", "-o", str(target))
    assert done.returncode == 0, done.stderr
    return int.from_bytes(target.read_bytes()[12:16], "little")


def _series(run: Path, target: Path) -> dict[str, Any]:
    done = tool("writestall", "export", str(run), "--to", "disk", "-o", str(target))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(target.read_text()))
