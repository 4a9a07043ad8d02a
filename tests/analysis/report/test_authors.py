# SPDX-License-Identifier: GPL-2.0-only
"""This test will say who filled the journal's transactions, where cgroups differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import build
from build import Events
from writestall.chain.answers import Answer, answer
from writestall.events.run_directory import open_run
from writestall.report.commits import commits
from writestall.report.text import report

DEV = "254:16"
PATHS = {1: "/", 7: "/docker/" + "a" * 64, 8: "/writestall-9/b"}
COMMIT = {"ev": "commit", "t_ns": build.START_NS, "dur_ns": 5, "dev": DEV, "tid": 9}


def explained(tmp_path: Path, *handles: dict[str, Any]) -> Answer:
    """The answer to a stream with these handles, all of transaction 4."""
    events = Events()
    for id, path in PATHS.items():
        row = {"ev": "cgroup", "t_ns": 1, "id": id, "version": 2, "path": path}
        events.rows.append(row)
    for row in handles:
        base = {"ev": "handles", "t_ns": build.START_NS, "dev": DEV, "transaction": 4}
        events.rows.append(base | row)
    events.rows.append(COMMIT | {"transaction": 4})
    return answer(open_run(build.run_dir(tmp_path / "run", events.end())), None)


def test_the_one_with_most_blocks_is_first(tmp_path: Path) -> None:
    found = explained(
        tmp_path,
        {"cgroup": 1, "handles": 50, "blocks": 10},
        {"cgroup": 8, "handles": 3, "blocks": 60},
        {"cgroup": 7, "handles": 2, "blocks": 30},
    )
    words = (
        "cgroup b 60.0 % (60 blocks, 3 handles), aaaaaaaaaaaa 30.0 % (30 blocks,"
        " 2 handles), the root cgroup 10.0 % (10 blocks, 50 handles)"
    )
    assert f"transactions were filled by {words}" in list(report(found, 3))
    picture = commits(found, build.START_NS, [])
    assert picture is not None
    assert [row.authors for row in picture.rows] == [words]


def test_the_root_alone_is_no_author(tmp_path: Path) -> None:
    found = explained(tmp_path, {"cgroup": 1, "handles": 50, "blocks": 10})
    assert not any("filled" in line for line in report(found, 3))
    picture = commits(found, build.START_NS, [])
    assert picture is not None
    assert [row.authors for row in picture.rows] == [""]


def test_handles_of_another_disk_are_not_reported(tmp_path: Path) -> None:
    found = explained(tmp_path, {"cgroup": 8, "handles": 5, "blocks": 1, "dev": "8:1"})
    assert not any("filled" in line for line in report(found, 3))
