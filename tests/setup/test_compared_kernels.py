# SPDX-License-Identifier: GPL-2.0-only
"""This test will name the kernels of a comparison, group its runs by machine, and cut
each kernel's machines, without starting one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from driver import artefacts, kernels, losses, planned
from driver.kernels import Kernel
from driver.planned import Planned
from driver.settings import Settings
from labrun.comparison import axes, matrix, plan
from labrun.scenario import reading
from writestall_base.errors import UserError


def chosen(name: str, given: str, accel: str = "icount") -> Kernel:
    return Kernel(name, Settings(given, accel, Path("out"), False), f"/built/{name}")


DISK = matrix.profile("dying-hdd")[1]
WORK = reading.load(reading.find("appenders"))[1]
PAIR = (chosen("6.12", "6.12"), chosen("7.2", "7.2"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A planned comparison of two options on two kernels."""
    on = tuple(axes.Kernel(one.name, one.settings.kernel) for one in PAIR)
    words = ("ext4-default", "xfs-default")
    wanted = plan.Wanted(DISK, WORK, words, 2, 12, 1, 0, "", kernels=on)
    plan.write(tmp_path, *plan.make(wanted))
    return tmp_path


def args(kernel: str | None) -> argparse.Namespace:
    return argparse.Namespace(kernel=kernel, accel=None, out=Path("o"), verbose=False)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, ["6.12"]),
        ("7.2", ["7.2"]),
        ("6.12,7.2", ["6.12", "7.2"]),
        ("6.12,6.12", ["6.12", "6.12-2"]),
    ],
)
def test_kernels_are_named_as_they_are_given(
    given: str | None, names: Sequence[str]
) -> None:
    assert [one.name for one in kernels.read(args(given))] == names


def test_trees_of_one_release_are_named_by_their_folders() -> None:
    def known(kernel: str) -> Any:
        class Tree:
            kernel_name = "6.12.57+"

        Tree.kernel = kernel  # type: ignore[attr-defined]
        return Tree

    both = [known("/src/good"), known("/src/my bad")]
    assert kernels._names(both) == ["good", "my-bad"]
    assert kernels._names([known("/a/linux"), known("/b/linux")]) == [
        "linux",
        "linux-2",
    ]
    assert kernels._names(both[:1]) == ["6.12.57"]


def test_an_unknown_kernel_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"unknown kernel '8\.2'"):
        kernels.read(args("6.12,8.2"))


def test_the_plan_gets_each_kernels_own_inputs() -> None:
    assert kernels.words(PAIR[:1], "stap") == ("--inputs", "6.12 stap icount")
    assert kernels.words(PAIR, "core") == (
        *("--on", "6.12", "6.12", "6.12 core icount"),
        *("--on", "7.2", "7.2", "7.2 core icount"),
    )


def test_kernels_are_not_compared_with_different_clocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = (PAIR[0], chosen("7.2", "7.2", "kvm"))
    monkeypatch.setattr(Settings, "measuring", lambda self: self)
    monkeypatch.setattr(artefacts, "build", lambda name: Path("/built", name))
    assert [one.built for one in kernels.built(PAIR)] == ["/built/6.12", "/built/7.2"]
    with pytest.raises(UserError, match=r"different clocks \(6\.12 icount, 7\.2 kvm\)"):
        kernels.built(both)


def test_a_machine_boots_one_kernel(folder: Path) -> None:
    """All of a round's runs of a kernel are together, the repetition by itself."""
    left = [name for name, *_ in plan.unfinished(folder)]
    machines = []
    while left:
        asked = Planned(folder, PAIR[0].settings, "stap")
        cells, kernel = asked.together(left)
        machines.append((kernel, sorted(cells)))
        left = left[len(cells) :]
    both = ["ext4-default-on-{}/{}", "xfs-default-on-{}/{}"]
    wanted = [
        *((k, [one.format(k.replace(".", "-"), r) for one in both])
          for r in (1, 2) for k in ("6.12", "7.2")),
        *(("6.12", [f"ext4-default-again-on-6-12/{r}"]) for r in (1, 2)),
    ]  # fmt: skip
    assert sorted(machines) == sorted(wanted)


def test_without_several_kernels_all_runs_share_a_machine(tmp_path: Path) -> None:
    words = ("ext4-default", "xfs-default")
    wanted = plan.Wanted(DISK, WORK, words, 2, 12, 1, 0, "")
    plan.write(tmp_path, *plan.make(wanted))
    asked = Planned(tmp_path, PAIR[0].settings, "stap")
    left = [name for name, *_ in plan.unfinished(tmp_path)]
    assert asked.together(left) == (left, None)


class Cut:
    """What stands for crash.Cut: it finds that nothing was lost."""

    made: ClassVar[list[tuple[str, str, float, str, str]]] = []

    def __init__(
        self,
        place: Path,
        known: Settings,
        built: str,
        seconds: float,
        of: Any,
        cache: Any,
    ) -> None:
        assert cache is None
        self.place, self.of = place, of
        self.how = (known.kernel, built, seconds)

    def kept(self, _: Any, option: str) -> None:
        scenario = str(self.of[option].relative_to(self.place.parents[2]))
        self.made.append((*self.how, option, scenario))
        (self.place / f"{option}.json").write_text("{}")


def test_each_kernels_machines_are_cut_as_often_as_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "Cut", Cut)
    Cut.made = []
    log: Any = None

    def cut(asked: losses.Asked) -> str:
        losses.prepare(folder, PAIR, asked)
        losses.make(log, folder, PAIR, asked, losses.left(folder, asked))
        return losses.result(folder, asked)

    assert cut(losses.Asked(3, 45)) == "12 of 12 cuts done"
    assert (folder / "crash/xfs-default@7.2/3/xfs-default.json").exists()
    first = [one for one in Cut.made if one[2] == 45]
    assert sorted(one[:2] for one in first) == 2 * [("6.12", "/built/6.12")] + 2 * [
        ("7.2", "/built/7.2")
    ]
    assert Cut.made[0][3:] == (
        "ext4-default",
        "scenarios/1/ext4-default-on-6-12.toml",
    )
    # The moment is drawn once for all options, and the disk is that of a round.
    later = {one[2] for one in Cut.made if one[2] != 45}
    assert len(later) == 2 and all(1 <= moment_s < 45 for moment_s in later)
    rounds = {one[2]: set[str]() for one in Cut.made}
    for one in Cut.made:
        rounds[one[2]].add(one[4].split("/")[1])
    assert sorted(map(sorted, rounds.values())) == [["1"], ["1"], ["2"]]
    # Another call makes only what is missing, and sets other inputs' results aside.
    Cut.made = []
    assert losses.left(folder, losses.Asked(4, 45)) == [4]
    assert cut(losses.Asked(4, 45)) == "16 of 16 cuts done"
    assert len(Cut.made) == 4
    cut(losses.Asked(1, 30))
    assert len(list(folder.glob("earlier/*/crash/*/*/*.json"))) == 16
    assert len(list(folder.glob("crash/*/*/*.json"))) == 4


def test_the_command_of_a_machine_names_its_kernel(folder: Path) -> None:
    cells = ["xfs-default-on-7-2/1"]
    asked = Planned(folder, PAIR[1].settings, "stap")
    command = asked.machine("1", cells, PAIR[1].built)
    assert command[command.index("--kernel") + 1] == "7.2"
    assert f"{PAIR[1].built}:/mnt/build:ro" in command
    limit_s = json.loads(command[command.index("--timeout") + 1])
    assert limit_s == 12 + 2 * planned.BESIDE_S
