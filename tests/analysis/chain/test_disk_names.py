# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the disk of a file system that has no device number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import build
from writestall.chain.answers import answer
from writestall.events.run_directory import open_run

DISK = {"name": "vdb", "dev": "254:16", "size_bytes": 1 << 30}
ANONYMOUS = "0:36"
LIMIT = {"limit_bytes": 1 << 24}
IDLE = (0, "swapper/0")


@pytest.mark.parametrize(
    ("kind", "memory", "dev", "named"),
    [
        ("ext4", None, "254:16", "vdb"),
        ("btrfs", None, ANONYMOUS, "vdb"),
        ("tmpfs", LIMIT, ANONYMOUS, "vdb"),
        ("tmpfs", None, ANONYMOUS, "disk 0:36"),
    ],
)
def test_the_disk_is_named_as_the_run_has_it(
    kind: str, memory: dict[str, Any] | None, dev: str, named: str, tmp_path: Path
) -> None:
    events = build.Events()
    events.block(200, 105, 80, "reclaim", IDLE, "completion", ctx="softirq")
    events.write(200, 100, 90, 80, stack="reclaim", dev=dev)
    run = build.run_dir(
        tmp_path / "run",
        events.end(),
        device=DISK,
        filesystem={"type": kind, "dev": dev},
        memory=memory,
    )
    found = answer(open_run(run), None)
    (chain,) = found.chains
    assert [part.cls for part in chain.parts][:1] == ["memory"]
    assert f"{named} slow for the writer" in map(str, found.roots([chain]))
