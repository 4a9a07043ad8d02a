# SPDX-License-Identifier: GPL-2.0-only
"""test_scenarios: run each scenario, and check that its expected chain appears.

`make lab` succeeds only if the run meets the `expect` table of the scenario, at least
95 % is explained, nothing was lost, and `writestall check` agrees with what was
injected. `make test` runs some scenarios; `make test-scenarios` runs all, on every
kernel. The latter also runs each with every other injector that supports its rules,
because the stall must not depend on the injector, and with its bios held in the other
mode: no chain is promised for that, but the causes must still be right.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from lab_runs import hold_to_the_truth, make, make_lab
from labrun.injectors import registry
from labrun.scenario import reading, variants
from labrun.scenario.keys import Scenario
from machine import recipe
from support import DEFAULT, EVERY, KERNELS, ON_DEMAND, PROJECT, kernel_name
from writestall_base.errors import UserError
from writestall_base.releases import version

FILES = sorted(path.stem for path in (PROJECT / "repro/scenarios").glob("*.toml"))
# One of each kind: no delay at all, memory, another file system, that one on the newest
# kernel with both engines. The journal is in test_lab.py: page-lock, on the default
# kernel with both.
SOME = {"healthy": DEFAULT, "memory-reclaim": DEFAULT, "xfs-ilock": KERNELS[-1]}
RUNS = "two to five runs of the lab, each on another way to the same causes"


def known_on(scenario: str, kernel: str) -> list[pytest.MarkDecorator]:
    """A scenario names the kernels that it is known on; it is skipped on others."""
    known, here = loaded(scenario).kernel, version(kernel_name(kernel))
    oldest, newest = version(known.min), version(known.max) if known.max else here
    if oldest <= here <= newest:
        return []
    reason = f"{scenario} is known on Linux {known.min} to {known.max or 'any'}"
    return [pytest.mark.skip(reason=reason)]


def loaded(name: str) -> Scenario:
    """A scenario of the tree, or the one that a variant is of."""
    found, _ = reading.load(reading.find(variants.split(name)[0]))
    return found


# A variant that promises its chain on another file system.
ELSEWHERE = ["io-max:xfs"]
# Those of programs that the image lacks: make test-apps.
ALL = [name for name in FILES if not loaded(name).machine.packages]


def kernels(scenario: str) -> tuple[str, ...]:
    """All, or that of SOME; on demand the default one, too."""
    if EVERY:
        return KERNELS
    some = SOME.get(scenario, DEFAULT)
    return tuple(dict.fromkeys((DEFAULT, some) if ON_DEMAND else (some,)))


def by_others(scenario: str) -> list[str]:
    """The other injectors that produce its chain."""
    found = loaded(scenario)
    names = []
    for name in registry.REGISTRY:
        with suppress(UserError):
            if registry.chosen(found, name).name == name != registry.DEFAULT:
                names.append(name)
    return names


def other_mode(scenario: str) -> str | None:
    """The other mode of its rules; None for a scenario without rules."""
    modes = {rule.mode for rule in loaded(scenario).inject}
    return ("defer" if "sleep" in modes else "sleep") if modes else None


def case(scenario: str, kernel: str, *words: str) -> ParameterSet:
    """A scenario on a kernel; `words` are put between them.

    One worker runs all cases whose ids have the same text before `::`, one after the
    other (pytest-xdist, --dist loadscope).
    """
    name = "-".join([scenario, *words])
    marks = known_on(scenario, kernel)
    return pytest.param(
        scenario, *words, kernel, id=f"{name}::{kernel_name(kernel)}", marks=marks
    )


@pytest.mark.parametrize(
    ("scenario", "kernel"),
    [
        case(scenario, kernel)
        for scenario in ([*ALL, *ELSEWHERE] if ON_DEMAND else SOME)
        for kernel in kernels(scenario)
    ],
)
def test_its_chain_appears(scenario: str, kernel: str, tmp_path: Path) -> None:
    by_both = (EVERY or kernel != DEFAULT) and recipe.load(kernel).has_core
    engine = "both" if by_both else "stap"
    lab = make_lab(tmp_path, SCENARIO=scenario, KERNEL=kernel, ENGINE=engine)
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    assert lab.json("manifest.json")["status"] == "complete"
    hold_to_the_truth(lab)


@pytest.mark.on_demand(RUNS)
@pytest.mark.parametrize(
    ("scenario", "injector", "kernel"),
    [
        case(scenario, kernel, injector)
        for scenario in (ALL if EVERY else ["page-lock"])
        for injector in by_others(scenario)
        for kernel in (KERNELS if EVERY else [DEFAULT])
    ],
)
def test_its_chain_appears_by_another_injector(
    scenario: str, injector: str, kernel: str, tmp_path: Path
) -> None:
    lab = make_lab(tmp_path, SCENARIO=scenario, KERNEL=kernel, INJECTOR=injector)
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    injected = lab.json("manifest.json")["injector"]
    assert injected["name"] == injector
    # The roots of the writes lie beyond it.
    assert sum(injected["counters"].values()) > 0
    assert not (lab.run / "truth.jsonl").exists()
    assert f"{injector} keeps no record of what it delayed" in lab.done.stderr


@pytest.mark.on_demand(RUNS)
@pytest.mark.parametrize(
    ("scenario", "mode", "kernel"),
    [
        case(scenario, kernel, mode)
        for scenario in ALL
        if (mode := other_mode(scenario))
        for kernel in KERNELS
    ],
)
def test_its_causes_are_right_in_the_other_mode(
    scenario: str, mode: str, kernel: str, tmp_path: Path
) -> None:
    lab = make_lab(tmp_path, SCENARIO=scenario, KERNEL=kernel, MODE=mode)
    assert lab.done.returncode == 0, lab.done.stdout + lab.done.stderr[-3000:]
    manifest = lab.json("manifest.json")
    assert {rule["mode"] for rule in manifest["scenario"]["inject"]} == {mode}
    # Some scenarios stall nothing that way, and neither would an injector that does
    # nothing. In sleep mode it must not hold xfsaild, which reclaims memory, and counts
    # that.
    counters = manifest["injector"]["counters"]
    refused = counters["refused_reclaim"]
    assert counters["delayed"] > 0 or 0 < refused == counters["matched"]
    hold_to_the_truth(lab)


@pytest.mark.on_demand(RUNS)
def test_each_remedy_of_gc_log_is_one_and_stands_in_the_table(tmp_path: Path) -> None:
    """All threads stop because of one write; each remedy shortens that stop."""
    variants = make(tmp_path, "variants", SCENARIO="gc-log")
    assert variants.done.returncode == 0, variants.done.stderr[-3000:]
    rows = {row["variant"]: row for row in variants.rows("variants.json")}
    assert list(rows) == ["plain", "tmpfs", "no-journal", "xfs", "async"]
    plain = rows.pop("plain")["longest_pause"]
    assert plain["dur_ns"] >= 1_000_000_000
    assert plain["covered_ns"] >= 0.9 * plain["dur_ns"]
    for name, row in rows.items():
        assert row["longest_logging_ns"] < plain["log_ns"] / 2, name
        assert name in variants.done.stdout
