# SPDX-License-Identifier: GPL-2.0-only
"""test_injectors: other injectors produce the same wait classes as biodelay.

dm-delay slows a disk below the file system, scsi_debug is a slow disk; both delay all
bios equally. What a stall looks like to the writer must not depend on the injector.
test_scenarios checks that every scenario's chain appears with each of them.
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
    """The class in which the stalled writes waited longest; the rest varies.

    `make lab` has checked that the chain of the scenario is there.
    """
    by_class = lab.json("summary.json")["stall_ns_by_class"]
    return str(max(by_class, key=by_class.__getitem__))


@pytest.mark.on_demand("a run of the lab for each injector")
@pytest.mark.parametrize("kernel", KERNELS if EVERY else [recipe.load().kernel])
def test_every_injector_makes_the_same_stalls(kernel: str, tmp_path: Path) -> None:
    """Of a scenario outside the checkout, which is copied into the run."""
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
