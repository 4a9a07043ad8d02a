# SPDX-License-Identifier: GPL-2.0-only
"""test_compare: interrupt and resume a small comparison, and check its report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from lab_runs import marked
from support import PROJECT

LIMIT_S = 300
END_S = 60
SERIES = ("tmpfs", "ext4-external-journal", "ext4-external-journal-again")
CELLS = {f"{name}/1" for name in SERIES}
BOTH = {f"{name}/{number}" for name in SERIES for number in (1, 2)}
# A shell takes the place of a scheduler, and starts each job in the background.
BACKGROUND = PROJECT / "tests/lab/background"


# Two options, one round of 2 s.
SMALL: tuple[str, ...] = (
    "--fs",
    "tmpfs,ext4-external-journal",
    "--rounds",
    "1",
    "--duration",
    "2",
)
SMALL += ("--trial",)


def _command(out: Path, *options: str) -> list[str]:
    """The small comparison; no machine is cut unless `options` say so."""
    words = ["compare", *SMALL, "--name", "small", "--cut", "0", "--out", str(out)]
    return [str(PROJECT / "writestall"), *words, *options]


def _manifest(folder: Path, cell: str) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / cell / "manifest.json").read_text()))
    except (OSError, ValueError):
        return {}


def _clock(folder: Path, cell: str) -> Any:
    """The clock of a cell's first run, which stays; a disturbed one is set aside."""
    tries = sorted(folder.glob(f"disturbed/*/{cell}"))
    return _manifest((tries or [folder / cell])[0], ".")["clock"]


def _complete(folder: Path) -> set[str]:
    return {
        cell for cell in BOTH if _manifest(folder, cell).get("status") == "complete"
    }


def _begun(folder: Path) -> set[str]:
    return {cell for cell in BOTH if _manifest(folder, cell)}


def _interrupted(out: Path, tmp: Path, *options: str, **more: str) -> str:
    """Start it, press Ctrl-C during its second run; return the finished cell."""
    mark, mounts = f"MARK_{uuid.uuid4().hex}", Path("/proc/mounts").read_text()
    folder, log = out / "compare/small", tmp / "stderr"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            _command(out, *options),
            env=os.environ | {"TMPDIR": str(tmp), mark: "1"} | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        ) as compare,
    ):
        deadline_s = time.monotonic() + LIMIT_S
        while not (done := _complete(folder)) or len(_begun(folder)) == len(done):
            assert time.monotonic() < deadline_s, log.read_text()
            assert compare.poll() is None, log.read_text()
            time.sleep(0.05)
        os.killpg(compare.pid, signal.SIGINT)
        status = compare.wait(END_S)
    assert status == 130, log.read_text()
    deadline_s = time.monotonic() + END_S
    while left := marked(mark):
        assert time.monotonic() < deadline_s, left
        time.sleep(0.2)
    assert Path("/proc/mounts").read_text() == mounts
    (finished,) = done
    return finished


def _compared(
    out: Path, *options: str, **more: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        _command(out, *options),
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_an_interrupted_comparison_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    folder = out / "compare/small"
    finished = _interrupted(out, tmp_path)
    before = _clock(folder, finished)
    done = _compared(out, "--cut", "8")
    assert "2 of 3 runs of 2 s to do" in done.stderr
    assert _complete(folder) == CELLS
    assert _clock(folder, finished) == before
    assert _manifest(folder, "tmpfs/1")["filesystem"]["mkfs"] is None
    journal = _manifest(folder, "ext4-external-journal/1")
    assert journal["journal_device"]["name"] == "sda"
    assert "device=/dev/sda" in journal["filesystem"]["mkfs"]
    # Whether a run counts depends on the machine; how it is reported does not.
    assert done.stdout.strip() == (folder / "compare.txt").read_text().strip()
    report = json.loads((folder / "compare.json").read_text())
    assert {row["name"] for row in report["options"]} == {
        "ext4-external-journal",
        "tmpfs",
    }
    (kept,) = report["durability"]
    assert kept["option"] == "ext4-external-journal"
    # How many writes a slow disk completes in 8 s depends on the disk.
    assert kept["synced"]["synced"] > 0 == kept["synced"]["lost_synced"]
    cut = folder / "crash/ext4-external-journal/1/ext4-external-journal"
    kept = json.loads(cut.with_suffix(".json").read_text())
    assert "disk dying-hdd" in kept["disk"]
    assert "biodelay: loading" in cut.with_suffix(".write.log").read_text()
    assert "None of 1 option lost what fsync(2) had confirmed, in 1 cut." in done.stdout
    assert (folder / "compare.html").read_text().startswith("<!DOCTYPE html>")


def _check_rounds(folder: Path, printed: str) -> None:
    """Each round has its own machine, and all of them one report."""
    assert _complete(folder) == BOTH
    for number in (1, 2):
        assert list(folder.glob(f"machines/round-{number}-*.json")), number
    assert printed.strip() == (folder / "compare.txt").read_text().strip()


@pytest.mark.on_demand("another way through the same comparison")
def test_rounds_and_cuts_run_side_by_side(tmp_path: Path) -> None:
    folder = tmp_path / "compare/small"
    asked = ("--jobs", "2", "--rounds", "2", "--cut", "5", "--cuts", "2")
    done = _compared(tmp_path, *asked)
    _check_rounds(folder, done.stdout)
    assert len(list(folder.glob("crash/ext4-external-journal/[12]/*.json"))) == 2
    before = {cell: _clock(folder, cell) for cell in BOTH}
    again = _compared(tmp_path, *asked).stderr
    assert "0 of 6 runs of 2 s to do" in again and "2 of 2 cuts done" in again
    assert {cell: _clock(folder, cell) for cell in BOTH} == before


@pytest.mark.on_demand("another way through the same comparison")
def test_an_interrupted_scheduler_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    folder = out / "compare/small"
    asked = ("--jobs", "1", "--executor", "cluster-generic", "--rounds", "2")
    profile = {"SNAKEMAKE_PROFILE": str(BACKGROUND)}
    finished = _interrupted(out, tmp_path, *asked, **profile)
    before = _clock(folder, finished)
    done = _compared(out, *asked, TMPDIR=str(tmp_path), **profile)
    assert "5 of 6 runs of 2 s to do" in done.stderr
    _check_rounds(folder, done.stdout)
    assert _clock(folder, finished) == before
    # Both rounds, the interrupted one again, and those that the host disturbed: with
    # that scheduler, not beside it.
    repeated = {path.name for path in folder.glob("disturbed/*/*/*")}
    submitted = (tmp_path / "submitted").read_text().split()
    assert 3 <= len(submitted) <= 3 + 3 * len(repeated)
