# SPDX-License-Identifier: GPL-2.0-only
"""test_injectors: a disk that dm-delay slows to the classes that biodelay makes.

dm-delay slows a disk below the file system, for all alike, and keeps no record. What
a stall looks like from above must not depend on who makes the disk slow.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab_runs import Lab, make_lab
from machine import recipe
from support import EVERY, KERNELS

SCENARIOS = ("journal-buffer", "flush-fua") if EVERY else ("journal-buffer",)


def _main_class(lab: Lab) -> str:
    """What the stalled writes waited for longest; the rest is up to the moment.

    That the chain the scenario wants is there, `make lab` has seen to.
    """
    by_class = lab.json("summary.json")["stall_ns_by_class"]
    return str(max(by_class, key=by_class.__getitem__))


@pytest.mark.parametrize("kernel", KERNELS if EVERY else [recipe.load().kernel])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_dm_delay_makes_the_stalls_that_biodelay_makes(
    scenario: str, kernel: str, tmp_path: Path
) -> None:
    found = {}
    for injector in ("biodelay", "dm-delay"):
        lab = make_lab(
            tmp_path / injector, SCENARIO=scenario, KERNEL=kernel, INJECTOR=injector
        )
        assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
        told = lab.json("manifest.json")["injector"]
        assert told["name"] == injector
        found[injector] = _main_class(lab)
    assert found["dm-delay"] == found["biodelay"]
    # The loop's last run is dm-delay's.
    assert told["counters"]["dm-0 writes"] > 0
    assert not (lab.run / "truth.jsonl").exists()
    assert "dm-delay keeps no record of what it delayed" in lab.done.stderr


def test_what_dm_delay_cannot_do_is_said_at_once(tmp_path: Path) -> None:
    lab = make_lab(tmp_path, SCENARIO="appenders", INJECTOR="dm-delay")
    assert lab.done.returncode != 0
    assert "dm-delay delays all alike; take --injector biodelay" in lab.done.stderr
    assert not list(tmp_path.iterdir()), "a run was begun"
