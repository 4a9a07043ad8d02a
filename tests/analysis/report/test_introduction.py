# SPDX-License-Identifier: GPL-2.0-only
"""This test will read the line of a page that says who disk and thread are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import build
import webpage

DISK = {"name": "vdb", "dev": "254:16", "size_bytes": 1 << 30}
INJECTED = "The lab delayed I/O on purpose in this run (injector biodelay)."
THREAD = "jbd2 is the kernel thread that commits ext4's journal."


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        (
            {"filesystem": {"type": "ext4"}, "injector": {"name": "biodelay"}},
            f"Disk vdb holds the ext4 file system. {THREAD} {INJECTED}",
        ),
        ({"journal_device": DISK, "injector": None}, f"journal. {THREAD}"),
        ({"device": None, "injector": None}, THREAD),
    ],
)
def test_who_is_who_is_above_the_numbers(
    manifest: dict[str, Any], line: str, tmp_path: Path
) -> None:
    run = build.run_dir(tmp_path / "run", build.cascade().end(), **manifest)
    header = webpage.read(run).one("header")
    assert header.one("p", class_="who").words.endswith(line)
    tags = [part.tag for part in header.inner if isinstance(part, webpage.Element)]
    assert tags.index("p") < tags.index("dl")


def test_nobody_is_introduced_where_nothing_stalled(tmp_path: Path) -> None:
    run = build.run_dir(tmp_path / "run", build.Events().end(), injector=None)
    assert not list(webpage.read(run).one("header").all("p", class_="who"))
