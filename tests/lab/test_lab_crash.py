# SPDX-License-Identifier: GPL-2.0-only
"""This test will cut a machine during its writes, and check in the next machine what
fsync(2) promised, and that nothing else was promised."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support import PROJECT

LIMIT_S = 300


def _crash(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["./writestall", "crash", "--out", str(out), *words],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.on_demand("test_compare.py cuts a machine and reads what it kept, too")
def test_what_was_synced_outlives_its_machine(tmp_path: Path) -> None:
    done = _crash(tmp_path, "--fs", "ext4-default", "--duration", "8")
    assert done.returncode == 0, done.stderr[-3000:]
    (folder,) = tmp_path.iterdir()
    ((option,),) = [json.loads((folder / "crash.json").read_text())]
    cut = json.loads((folder / "ext4-default.write.verdict").read_text())
    assert cut["outcome"] == "cut"
    assert option["synced"]["synced"] > 100
    assert option["synced"]["lost_synced"] == 0
    # Delayed allocation: no block, and no size, before writeback.
    assert option["plain"]["lost"] == option["plain"]["written"] > 100
    assert "| ext4-default |" in done.stdout
