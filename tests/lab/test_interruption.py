# SPDX-License-Identifier: GPL-2.0-only
"""test_interruption: press Ctrl-C in every stage of the lab; nothing may be left
behind.

The same for a SIGTERM that only the program itself receives, not its descendants.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from driver.commands.lab import STAGES
from lab_runs import marked
from machine import cache
from support import PROJECT

BEGIN_S = 300
END_S = 60
INTO_STAGE_S = 3.0
# The finished builds of each stage, by their names in the cache.
LEAVES = {
    "set-up": ("venv",),
    "qemu": ("qemu",),
    "image": ("tree", "root"),
    "accelerator": ("accel",),
    "compile": ("biodelay", "workloads", "stap", "artefacts"),
}
NAMES = [stage.name for stage in STAGES]
# The stages that take long enough to be interrupted; the others take milliseconds.
LONG = ["qemu", "image", "accelerator", "compile", "run"]
ENDS = [
    *((stage, os.killpg, signal.SIGINT) for stage in LONG),
    *((stage, os.kill, signal.SIGTERM) for stage in ("image", "compile")),
]


def _cache_that_stops_at(stage: str, place: Path) -> None:
    """A cache with the results of all earlier stages, so that this one must run."""
    earlier = NAMES[: NAMES.index(stage)]
    wanted = tuple(f"{build}-" for name in earlier for build in LEAVES[name])
    for done in cache.root().iterdir():
        if done.name.startswith(wanted) and done.suffix not in (".lock", ".part"):
            (place / done.name).symlink_to(done)


@pytest.mark.parametrize(("stage", "send", "number"), ENDS)
def test_an_end_leaves_nothing_running_or_mounted(
    stage: str, send: Callable[[int, int], None], number: int, tmp_path: Path
) -> None:
    place, out, mark = tmp_path / "cache", tmp_path / "out", f"MARK_{uuid.uuid4().hex}"
    place.mkdir()
    _cache_that_stops_at(stage, place)
    mounts = Path("/proc/mounts").read_text()
    environment = os.environ | {
        "WRITESTALL_CACHE": str(place),
        "TMPDIR": str(tmp_path),
        mark: "1",
    }
    log = tmp_path / "stderr"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [str(PROJECT / "writestall"), "lab", "--out", str(out)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        ) as lab,
    ):
        deadline = time.monotonic() + BEGIN_S
        while f".. {stage}" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            assert lab.poll() is None, log.read_text()
            time.sleep(0.05)
        if stage not in ("accelerator",):
            time.sleep(INTO_STAGE_S)
        send(lab.pid, number)
        status = lab.wait(END_S)
    assert status == 130, log.read_text()
    assert "interrupted" in log.read_text().splitlines()[-1]
    deadline = time.monotonic() + END_S
    while left := marked(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
    assert Path("/proc/mounts").read_text() == mounts
