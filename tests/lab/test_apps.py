# SPDX-License-Identifier: GPL-2.0-only
"""test_apps: real programs: what they complain of, to the calls that made it.

`make test-apps` runs them all, on two file systems, every kernel and both engines;
`make test` runs sqlite-wal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_runs import Lab, analysed, make_lab
from labrun.scenario import reading, variants
from support import KERNELS

# Of complaints, by program.
FEWEST = {
    **{"jvm-gc-log": 3, "sqlite-wal": 10, "postgresql": 10},
    **{"etcd": 3, "redis-aof": 1, "kafka": 10, "kafka-gc-log": 10},
    **{"mariadb": 10, "rocksdb": 10},
}


# On XFS, Redis' main thread writes on while another one syncs, and no commit holds the
# inode of the JVM's log, or those of Kafka's segments.
FEWEST_OF_VARIANT = {
    **{"redis-aof:xfs": 0, "jvm-gc-log:xfs": 0},
    **{"kafka:xfs": 0, "kafka-gc-log:xfs": 0},
}
# Where the line of a collection is a write to the disk inside the safepoint.
LOGGED_INSIDE = ("jvm-gc-log", "kafka-gc-log")


def cases() -> Iterator[tuple[str, str]]:
    """Scenarios with their variants, and kernels."""
    for app in FEWEST:
        found, _ = reading.load(reading.find(app))
        for variant in variants.names(found):
            for kernel in KERNELS:
                yield variants.label(app, variant), kernel


@pytest.mark.on_demand("make test-apps: a run of each application, variant and kernel")
# One worker runs those of one scenario (pytest-xdist, --dist loadscope).
@pytest.mark.parametrize(
    ("scenario", "kernel"),
    [pytest.param(app, kernel, id=f"{app}::{kernel}") for app, kernel in cases()],
)
def test_what_it_complains_of_was_its_own_call_or_another_one_s(
    scenario: str, kernel: str, tmp_path: Path
) -> None:
    lab = make_lab(tmp_path, SCENARIO=scenario, KERNEL=kernel, ENGINE="both")
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    for engine in ("stap", "core"):
        done = analysed("explain", lab.run, "--engine", engine, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["summary"]
        hold(found["complaints"], scenario)
        if not found["stalls"] and scenario in FEWEST_OF_VARIANT:
            continue  # there is nothing to judge
        checked = analysed("check", lab.run, "--engine", engine, "--json")
        verdict = json.loads(checked.stdout)
        assert verdict["root_right_share"] >= 0.99
        assert verdict["owner_right_share"] >= 0.99
    assert_recorded(lab)


def hold(complaints: dict[str, Any], scenario: str) -> None:
    """The disk is slow and the load light: next to nothing else takes long.

    Time that only overlaps with a call of another task does not count where a critical
    path tells more: etcd's and Redis' logs name no thread.
    """
    fewest = FEWEST[scenario.partition(":")[0]]
    assert complaints["count"] >= FEWEST_OF_VARIANT.get(scenario, fewest)
    long = complaints["long"]
    beside_calls_ns = long["own_ns"] + long["others_ns"] + long["meanwhile_ns"]
    assert beside_calls_ns >= 0.95 * long["sum_ns"], complaints
    pauses = complaints["by_program"].get("jvm", {"own_ns": 0})
    assert (pauses["own_ns"] > 0) == (scenario in LOGGED_INSIDE), pauses


def assert_recorded(lab: Lab) -> None:
    """Every program's requests have become a client's latencies."""
    summary = lab.json("summary.json")
    assert summary["writes"] > 0
    assert summary["max_ns"] >= summary["p50_ns"] > 0
