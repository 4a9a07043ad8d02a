# SPDX-License-Identifier: GPL-2.0-only
"""test_injectors: a disk that others slow to the classes that biodelay makes.

dm-delay slows a disk below the file system, scsi_debug is one that is slow; both do it
for all alike. What a stall looks like from above must not depend on who makes the disk
slow. That every scenario's chain is there with each of them, test_scenarios sees to.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab_runs import Lab, make_lab
from labrun.injectors.registry import REGISTRY
from machine import recipe
from support import EVERY, KERNELS, PROJECT


def _main_class(lab: Lab) -> str:
    """What the stalled writes waited for longest; the rest is up to the moment.

    That the chain the scenario wants is there, `make lab` has seen to.
    """
    by_class = lab.json("summary.json")["stall_ns_by_class"]
    return str(max(by_class, key=by_class.__getitem__))


@pytest.mark.parametrize("kernel", KERNELS if EVERY else [recipe.load().kernel])
def test_every_injector_makes_the_same_stalls(kernel: str, tmp_path: Path) -> None:
    """Of a scenario of one's own, outside the checkout, which the run takes along."""
    found = {}
    own = str(shutil.copy(PROJECT / "repro/scenarios/journal-buffer.toml", tmp_path))
    for name in REGISTRY:
        lab = make_lab(tmp_path / name, SCENARIO=own, KERNEL=kernel, INJECTOR=name)
        assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
        assert (lab.run / "journal-buffer.toml").exists()
        assert lab.json("manifest.json")["injector"]["name"] == name
        found[name] = _main_class(lab)
    assert set(found.values()) == {"journal_buffer"}


@pytest.mark.parametrize(
    ("scenario", "injector", "why"),
    [
        ("page-lock", "dm-delay", "does not cause its chain; use biodelay or"),
        ("flush-fua", "scsi_debug", "delays every bio alike; use --injector biodelay"),
    ],
    ids=["chain", "rule"],
)
def test_what_an_injector_cannot_do_is_said_at_once(
    scenario: str, injector: str, why: str, tmp_path: Path
) -> None:
    lab = make_lab(tmp_path, SCENARIO=scenario, INJECTOR=injector)
    assert lab.done.returncode != 0
    assert f"{injector} {why}" in lab.done.stderr
    assert not list(tmp_path.iterdir()), "a run was begun"
