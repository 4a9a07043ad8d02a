# SPDX-License-Identifier: GPL-2.0-only
"""This test will read scenarios with cgroups, and refuse those that contradict
themselves in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from labrun.scenario import reading, variants
from labrun.setup import cgroups
from writestall_base.errors import UserError

GOOD = """
name = "x"
purpose = "A test."
duration_s = 5

[kernel]
min = "6.1"

[filesystem]
type = "ext4"

[[cgroup]]
name = "a"

[[cgroup]]
name = "b"
io_max = { wbps = 1048576, riops = "max" }

[[workload]]
name = "w"
cgroup = "b"
write_bytes = 200
interval_us = 1_000

[[variant]]
name = "higher"
purpose = "A higher limit."
cgroup = [{ name = "b", io_max = { wbps = 9_000_000 }, io_weight = 50 }]
[variant.expect]
chain = []
stalled_writes_min = 0
stall_ms_min = 0
"""


def refusal(text: str, instead: str) -> str:
    assert text in GOOD
    with pytest.raises(UserError) as caught:
        reading.parse(GOOD.replace(text, instead, 1), "x.toml", "x")
    (line,) = caught.value.lines
    return line


@pytest.mark.parametrize(
    ("text", "instead", "message"),
    [
        (
            'cgroup = "b"',
            'cgroup = "c"',
            "x.toml: workload[0].cgroup: c is not in [[cgroup]]",
        ),
        ('name = "a"', 'name = "b"', "x.toml: cgroup[1].name: b is used twice"),
        (
            'name = "a"',
            'name = "a"\nio_weight = 0',
            "x.toml: cgroup[0].io_weight: want 1 to 10000, got 0",
        ),
        (
            "wbps = 1048576",
            "wbsp = 1048576",
            "x.toml: cgroup[1].io_max.wbsp: want rbps, wbps, riops or wiops",
        ),
        (
            '[[cgroup]]\nname = "a"',
            '[memory]\nlimit_bytes = 99_999_999\n\n[[cgroup]]\nname = "a"',
            "x.toml: memory: ext4 uses the disk; only tmpfs leaves it to swap",
        ),
        (
            'cgroup = [{ name = "b"',
            'cgroup = [{ name = "c"',
            "x.toml: workload[0].cgroup: b is not in [[cgroup]]",
        ),
    ],
)
def test_a_contradiction_is_one_line(text: str, instead: str, message: str) -> None:
    assert refusal(text, instead) == message


def test_a_limit_is_written_as_the_kernel_has_it() -> None:
    scenario = reading.parse(GOOD, "x.toml", "x")
    assert [cgroups.limits(group) for group in scenario.cgroup] == [
        {},
        {"io.max": "wbps=1048576 riops=max"},
    ]
    changed = variants.chosen(scenario, "higher")
    assert [cgroups.limits(group) for group in changed.cgroup] == [
        {"io.max": "wbps=9000000", "io.weight": "50"}
    ]


def test_a_kernel_without_shares_of_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = reading.parse(GOOD, "x.toml", "x")
    (tmp_path / "cgroup.controllers").write_text("io memory\n")
    monkeypatch.setattr(cgroups, "CONTROLLERS", tmp_path / "cgroup.controllers")
    monkeypatch.setattr(cgroups, "CGROUPS", tmp_path)
    weighed = variants.chosen(scenario, "higher").cgroup
    (problem,) = cgroups.problems(weighed)
    assert "io.cost.qos" in problem and "CONFIG_BLK_CGROUP_IOCOST" in problem
    assert not list(cgroups.problems(scenario.cgroup))
    (tmp_path / "io.cost.qos").touch()
    assert not list(cgroups.problems(weighed))


def test_a_machine_without_the_controllers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = reading.parse(GOOD, "x.toml", "x").cgroup
    controllers = tmp_path / "cgroup.controllers"
    monkeypatch.setattr(cgroups, "CONTROLLERS", controllers)
    assert len(list(cgroups.problems(groups))) == 2
    controllers.write_text("cpu io\n")
    (problem,) = cgroups.problems(groups)
    assert "controller memory" in problem and "mount -t cgroup2" in problem
    controllers.write_text("cpu io memory\n")
    assert list(cgroups.problems(groups)) == list(cgroups.problems(())) == []
