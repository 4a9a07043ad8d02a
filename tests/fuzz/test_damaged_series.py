# SPDX-License-Identifier: GPL-2.0-only
"""This test will damage the series of a recorded disk, which `lab --from` takes from
anybody: it makes rules that the module takes, or is refused in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import edits
from drawing import drawn

from labrun.scenario import disk_series
from labrun.scenario.rule import MAX_SEGMENTS, SEGMENT
from writestall_base.errors import UserError

MOST_MS = (1 << 32) - 1  # kmod/series.c
SERIES = {
    "format": 1,
    "window_ns": 100_000_000,
    "dur_ns": 1_000_000_000,
    "lost": 0,
    "disks": [
        {
            "dev": "254:16",
            "name": "vdb",
            "kinds": [
                {
                    "op": "write",
                    "flags": ["meta"],
                    "windows": [[0, ["1024:3", "2097152:4"]], [3, ["9437184:1"]]],
                    "slow": [[100_000_000, 250_000_000, 4096], [500_000_000, 10**9, 1]],
                },
                {
                    "op": "flush",
                    "flags": [],
                    "windows": [],
                    "slow": [[600_000_000, 50_000_000, 0]],
                },
            ],
        }
    ],
}


def test_no_series_breaks_the_rules_made_of_it(tmp_path: Path) -> None:
    path = tmp_path / "disk-series.json"

    def taken(content: bytes) -> None:
        path.write_bytes(content)
        try:
            _, rules = disk_series.rules(path, None)
        except UserError as error:
            assert len(str(error).splitlines()) == 1
            return
        for rule in rules:
            times = [int(segment.partition(" ")[0]) for segment in rule.series]
            assert all(re.fullmatch(SEGMENT, segment) for segment in rule.series)
            assert times == sorted(set(times)) and times[0] >= 0
            assert times[-1] <= MOST_MS and len(times) <= MAX_SEGMENTS

    assert drawn(edits.edited([json.dumps(SERIES).encode()], edits.OF_JSON), taken)
