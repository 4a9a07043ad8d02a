# SPDX-License-Identifier: GPL-2.0-only
"""test_plan: plan cells from disks, options and a workload; keep finished cells."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from labrun.comparison import matrix, plan, severity
from labrun.comparison.axes import Kernel
from labrun.comparison.plan import Wanted
from labrun.scenario import reading
from labrun.scenario.keys import FileSystem, Workload
from labrun.scenario.kinds import Command
from labrun.setup import filesystem
from support import PROJECT
from writestall_base import designs, plans
from writestall_base.errors import UserError

NAMES = [option.name for option in matrix.options()[0]]
AGAIN = "ext4-default-again"
DISK = matrix.profile("dying-hdd")[1]
WORK = reading.load(reading.find("appenders"))[1]


def wanted(*words: str, rounds: int = 3, duration_s: int = 12, seed: int = 1) -> Wanted:
    return Wanted(DISK, WORK, words, rounds, duration_s, seed, 0, "x")


def order(cells: Sequence[plan.Cell], number: int) -> list[str]:
    return [cell.option for cell in cells if cell.round == number]


def finish(folder: Path, *names: str, status: str = "complete") -> None:
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        manifest = json.dumps({"status": status})
        (folder / name / "manifest.json").write_text(manifest)


def left(folder: Path) -> list[str]:
    return [name for name, *_ in plan.unfinished(folder)]


def test_every_option_runs_once_a_round_in_an_order_of_its_own() -> None:
    _, cells = plan.make(wanted(rounds=4))
    orders = [order(cells, number) for number in (1, 2, 3, 4)]
    assert all(sorted(one) == sorted([*NAMES, AGAIN]) for one in orders)
    assert len({tuple(one) for one in orders}) == 4
    assert [cell.round for cell in cells] == sorted(cell.round for cell in cells)


def test_the_same_seed_gives_the_same_plan_and_another_one_does_not() -> None:
    assert plan.make(wanted()) == plan.make(wanted())
    assert order(plan.make(wanted())[1], 1) != order(plan.make(wanted(seed=2))[1], 1)


def test_more_rounds_leave_the_first_ones_as_they_were() -> None:
    assert (
        plan.make(wanted(rounds=5))[1][: 2 * (1 + len(NAMES))]
        == (plan.make(wanted(rounds=2))[1])
    )


def test_a_round_has_one_disk_for_all_options_and_the_next_another() -> None:
    _, cells = plan.make(wanted(rounds=2))
    scenarios = [reading.parse(cell.text, "x", cell.option) for cell in cells]
    seeds = {
        number: {
            found.seed
            for found, cell in zip(scenarios, cells, strict=True)
            if cell.round == number
        }
        for number in (1, 2)
    }
    assert [len(found) for found in seeds.values()] == [1, 1]
    assert seeds[1] != seeds[2]
    assert len({str(found.inject) for found in scenarios}) == 1
    assert len({str(found.workload) for found in scenarios}) == 1


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), NAMES),
        (("tmpfs",), ["tmpfs"]),
        (("xfs",), ["xfs-default", "xfs-biglog"]),
        (("tmpfs", "ext4-lazytime"), ["ext4-lazytime", "tmpfs"]),
    ],
)
def test_words_choose_options_or_whole_file_systems(
    words: tuple[str, ...], options: list[str]
) -> None:
    chosen = matrix.choose(matrix.options()[0], words)
    assert [option.name for option in chosen] == options


def test_a_load_is_a_share_of_what_the_workload_asks_for() -> None:
    loaded = dataclasses.replace(wanted("xfs-default", "tmpfs"), loads=(50, 100))
    made, cells = plan.make(loaded)
    assert made["loads"] == [50, 100]
    assert {cell.name for cell in cells if cell.round == 2} == {
        *("tmpfs/2", "tmpfs-at-50/2", "xfs-default/2", "xfs-default-at-50/2"),
        *("xfs-default-again/2", "xfs-default-again-at-50/2"),
    }
    for cell in cells:
        (work,) = reading.parse(cell.text, "x", Path(cell.scenario).stem).workload
        assert isinstance(work, Workload)
        assert work.interval_us == {50: 8_000, 100: 4_000}[cell.load]
    # Cells that were run without the other load are unchanged.
    alone = plan.make(wanted("xfs-default", "tmpfs"))[1]
    assert {one.text for one in alone} <= {one.text for one in cells}
    assert {one.name for one in alone} <= {one.name for one in cells}


def test_an_option_that_commits_too_rarely_is_said_to() -> None:
    made, _ = plan.make(wanted("ext4-default", "btrfs", duration_s=12))
    caveats = {option["name"]: option["caveat"] for option in made["options"]}
    assert caveats["ext4-default"] is None
    assert caveats["btrfs"].startswith("commits by itself every 30 s: runs of 12 s")


def test_finished_cells_stay_and_others_are_run_again(tmp_path: Path) -> None:
    words = ("tmpfs", "btrfs")
    plan.write(tmp_path, *plan.make(wanted(*words, rounds=2)))
    everything = left(tmp_path)
    assert len(everything) == 6
    finish(tmp_path, "tmpfs/1", "btrfs/2")
    finish(tmp_path, "btrfs/1", status="running")
    plan.write(tmp_path, *plan.make(wanted(*words, rounds=2)))
    assert left(tmp_path) == [
        name for name in everything if name not in ("tmpfs/1", "btrfs/2")
    ]


def test_runs_of_other_inputs_are_set_aside_and_taken_back(tmp_path: Path) -> None:
    """No run is ever removed: what differs gets its own place."""
    plan.write(tmp_path, *plan.make(wanted("tmpfs", rounds=1)))
    finish(tmp_path, "tmpfs/1", "tmpfs-again/1")
    (tmp_path / "tmpfs/1/mine").touch()
    assert left(tmp_path) == []
    plan.write(tmp_path, *plan.make(wanted("tmpfs", rounds=1, duration_s=13)))
    assert sorted(left(tmp_path)) == ["tmpfs-again/1", "tmpfs/1"]
    assert not (tmp_path / "tmpfs/1").exists()
    (kept,) = tmp_path.glob("earlier/*/tmpfs/1/mine")
    finish(tmp_path, "tmpfs/1")
    plan.write(tmp_path, *plan.make(wanted("tmpfs", rounds=1)))
    assert left(tmp_path) == []
    assert (tmp_path / "tmpfs/1/mine").exists() and not kept.exists()
    (other,) = tmp_path.glob("earlier/*/tmpfs/1/manifest.json")
    assert other.exists()


def test_the_baseline_runs_twice_in_each_round() -> None:
    made, cells = plan.make(wanted("xfs", "ext4-default", rounds=2))
    assert [row["name"] for row in made["options"][:2]] == ["ext4-default", AGAIN]
    assert made["options"][1]["repeats"] == "ext4-default"
    texts = {cell.option: cell.text for cell in cells if cell.round == 1}
    assert (
        texts[AGAIN].replace(AGAIN, "ext4-default").splitlines()[4:]
        == (texts["ext4-default"].splitlines()[4:])
    )
    other = dataclasses.replace(wanted("xfs", "ext4-default"), baseline="xfs-biglog")
    names = [row["name"] for row in plan.make(other)[0]["options"]]
    assert names[:2] == ["xfs-biglog", "xfs-biglog-again"]
    with pytest.raises(UserError, match="--baseline btrfs: not one of "):
        plan.make(dataclasses.replace(other, baseline="btrfs"))


KERNELS = (Kernel("6.12", "6.12", "a"), Kernel("7.2-rc1", "/src/linux", "b"))


def on(*words: str, **more: Any) -> Wanted:
    return dataclasses.replace(wanted(*words), kernels=KERNELS, **more)


def test_an_option_runs_on_each_kernel_with_one_disk_and_load() -> None:
    made, cells = plan.make(on("ext4-default", "btrfs"))
    against = {row["name"]: row.get("against") for row in made["options"]}
    assert against == {
        "ext4-default@6.12": None,
        "ext4-default-again@6.12": None,
        "ext4-default@7.2-rc1": "ext4-default@6.12",
        "btrfs@6.12": None,
        "btrfs@7.2-rc1": "btrfs@6.12",
    }
    assert made["kernels"][1] == {
        "name": "7.2-rc1",
        "given": "/src/linux",
        "inputs": "b",
    }
    of_round = {cell.name: cell for cell in cells if cell.round == 2}
    texts = [
        of_round[f"btrfs-on-{stem}/2"].text.splitlines() for stem in ("6-12", "7-2-rc1")
    ]
    differ = [pair for pair in zip(*texts, strict=True) if len(set(pair)) > 1]
    assert [pair[0].split()[0] for pair in differ] == ["#", "name"]
    rows = [row for row in made["cells"] if row["round"] == 2]
    assert {row["machine"] for row in rows if "again" in row["name"]} == {
        "2/6.12-again"
    }
    # What boots together runs together.
    machines = [row["machine"] for row in rows]
    assert [name for name, _ in groupby(machines)] == list(dict.fromkeys(machines))


def test_an_option_runs_on_the_disk_at_each_severity() -> None:
    """A formula, a delay and a series; the disk as it is comes first."""
    asked = wanted("ext4-default", "btrfs")
    delays: list[dict[str, object]] = [
        {"delay_us": 20_000_000},
        {"delay": "uniform 1ms 3ms"},
        {"series": ["0 5:1000 1000000000:20000000000", "100"]},
    ]
    disk = asked.disk | {"inject": [{"mode": "defer"} | one for one in delays]}
    factors = severity.factors("0.5,2,1")
    made, cells = plan.make(dataclasses.replace(asked, disk=disk, factors=factors))
    against = {row["name"]: row.get("against") for row in made["options"]}
    assert against == {
        "ext4-default@1x": None,
        "ext4-default-again@1x": None,
        "btrfs@1x": None,
        "ext4-default@0.5x": "ext4-default@1x",
        "btrfs@0.5x": "ext4-default@0.5x",
        "ext4-default@2x": "ext4-default@1x",
        "btrfs@2x": "ext4-default@2x",
    }
    assert made["severities"] == [1, 0.5, 2]
    cut = {row["name"]: row.get("crash", row["name"]) for row in made["options"]}
    assert (cut["btrfs@0.5x"], cut["btrfs@1x"]) == ("btrfs@1x", "btrfs@1x")
    texts = {cell.series: tomllib.loads(cell.text) for cell in cells}
    fixed, drawn, series = texts["btrfs-by-2x"]["inject"]
    assert fixed["delay_us"] == 30_000_000  # the module's longest
    assert drawn["delay"].startswith("table 0:2000000 ")
    assert drawn["delay"].endswith(" 1000000000:6000000")
    assert series["series"] == ["0 5:2000 1000000000:30000000000", "100"]
    (half, *_) = texts["btrfs-by-0-5x"]["inject"]
    assert half["delay_us"] == 10_000_000


@pytest.mark.parametrize("text", ["0,1", "1000", "x", "1,,2"])
def test_a_severity_that_is_no_factor_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="want factors like"):
        severity.factors(text)


def test_kernels_take_turns_in_an_order_that_is_drawn() -> None:
    _, cells = plan.make(on("ext4-default", rounds=8))
    orders = {
        tuple(cell.option for cell in cells if cell.round == at) for at in range(1, 9)
    }
    assert len(orders) > 3


@pytest.mark.parametrize("baseline", ["btrfs@7.2-rc1", "btrfs"])
def test_the_baseline_may_name_its_kernel(baseline: str) -> None:
    made, _ = plan.make(on("ext4-default", "btrfs", baseline=baseline))
    names = [row["name"] for row in made["options"]]
    first = "btrfs@7.2-rc1" if "@" in baseline else "btrfs@6.12"
    assert names[0] == first
    against = {row.get("against") for row in made["options"]}
    assert against == {None, first, f"ext4-default@{first.partition('@')[2]}"}


def test_kernels_of_one_name_are_refused() -> None:
    both = (Kernel("7.2", "7.2"), Kernel("7-2", "/src"))
    with pytest.raises(UserError, match="--kernel 7-2: want a name of its own"):
        plan.make(dataclasses.replace(wanted("btrfs"), kernels=both))


def test_machines_are_part_of_the_price() -> None:
    _, alone = plan.make(wanted("btrfs", rounds=8))
    _, both = plan.make(on("btrfs", rounds=8))
    assert plan.seconds(alone, 12) == 16 * (12 + plan.BESIDE_S)
    assert plan.seconds(both, 12) == 24 * (12 + plan.BESIDE_S) + 23 * plan.BOOT_S
    # A pair of two kernels has no repetition beside it: it takes more rounds.
    with pytest.raises(UserError, match="fewer than 11 rounds decide nothing about 30"):
        asked = on(rounds=8)
        plan.refuse_undecidable(asked, *plan.make(asked))


@pytest.mark.parametrize(
    ("words", "options"), [(("tmpfs",), 0), (("btrfs", "tmpfs"), 1), (("ext4",), 10)]
)
def test_cuts_are_part_of_the_price(words: tuple[str, ...], options: int) -> None:
    made, _ = plan.make(wanted(*words))
    assert plan.cut_seconds(made, 20, 100.0) == options * (100 + 20 * plan.CUT_S)


@pytest.mark.parametrize(
    ("words", "rounds", "rules", "least"),
    [
        (("tmpfs", "btrfs"), 7, {}, 8),
        ((), 7, {}, 8),
        ((), 8, {"objective": "over 65ms < 0.1%"}, 9),
        ((), 9, {"objective": "over 65ms < 0.1%", "margin": "1.2x"}, 10),
    ],
)
def test_rounds_that_cannot_decide_are_refused_with_the_price(
    words: tuple[str, ...], rounds: int, rules: dict[str, str], least: int
) -> None:
    asked = dataclasses.replace(wanted(*words, rounds=rounds), rules=rules)
    made, cells = plan.make(asked)
    with pytest.raises(UserError) as refused:
        plan.refuse_undecidable(asked, made, cells)
    runs = least * len(made["options"])
    said = str(refused.value)
    assert said.startswith(
        f"--rounds {rounds}: fewer than {least} rounds decide nothing"
    )
    assert (
        f"--rounds {least} takes {runs} runs, about {runs * 21 / 60:.0f} minutes"
        in said
    )
    enough = dataclasses.replace(asked, rounds=least)
    made, cells = plan.make(enough)
    plan.refuse_undecidable(enough, made, cells)


def test_looks_are_within_the_budget_and_can_each_decide() -> None:
    asked = wanted("xfs", "ext4-default")
    a_round_s = 4 * (12 + plan.BESIDE_S)
    looks = plan.looks_within(asked, 40 * a_round_s)
    assert (looks[-1], len(looks)) == (40, 5)
    level = designs.PLANNED / len(looks)
    assert looks[0] == designs.least_rounds(1, 2, level)
    assert plan.looks_within(asked, 9 * a_round_s) == (8,)
    with pytest.raises(UserError) as refused:
        plan.looks_within(asked, 7 * a_round_s)
    assert str(refused.value) == (
        "--budget: 7 rounds are within it, but fewer than 8 decide nothing; 8 take 12"
        " minutes"
    )
    first = dataclasses.replace(asked, rounds=looks[0], looks=looks)
    made, cells = plan.make(first)
    plan.refuse_undecidable(first, made, cells)


def test_rounds_that_are_added_are_a_look_of_their_own(tmp_path: Path) -> None:
    """Also if the later command has more cuts."""

    def written(rounds: int, *looks: int) -> tuple[list[int], list[int]]:
        asked = dataclasses.replace(wanted("tmpfs", rounds=rounds), looks=looks)
        asked = dataclasses.replace(asked, beside=f"--cuts {rounds}")
        plan.write(tmp_path, *plan.make(asked))
        made = json.loads((tmp_path / "plan.json").read_text())
        return made["looks"], made.get("added", [])

    assert written(8) == ([8], [])
    assert written(8) == ([8], [])
    assert written(12) == ([8], [12])
    assert written(8) == ([8], [12])
    assert written(16) == ([8], [12, 16])
    tmp_path.joinpath("plan.json").unlink()
    assert written(8, 8, 12) == ([8, 12], [])
    assert written(12, 8, 12) == ([8, 12], [])


def test_a_run_that_the_host_disturbed_is_repeated_and_kept(tmp_path: Path) -> None:
    plan.write(tmp_path, *plan.make(wanted("tmpfs", rounds=1)))
    finish(tmp_path, "tmpfs-again/1")

    def run(late_ns: int) -> None:
        finish(tmp_path, "tmpfs/1")
        manifest = {"status": "complete", "duration_s": 10}
        (tmp_path / "tmpfs/1/manifest.json").write_text(json.dumps(manifest))
        lines = [{"ev": "begin", "writers": 2}, {"ev": "end", "late_ns": late_ns}]
        text = "\n".join(map(json.dumps, lines))
        (tmp_path / "tmpfs/1/writer.jsonl").write_text(text)

    run(late_ns=2 * 10 * 10**9 // 100)
    for number in (1, 2, 3):
        assert plan.set_disturbed_aside(tmp_path) == ["tmpfs/1"]
        assert left(tmp_path) == ["tmpfs/1"]
        assert (tmp_path / f"disturbed/{number}/tmpfs/1/writer.jsonl").exists()
        run(late_ns=2 * 10 * 10**9 // 100)
    assert plan.set_disturbed_aside(tmp_path) == []
    assert left(tmp_path) == []
    run(late_ns=10**6)
    assert plan.set_disturbed_aside(tmp_path) == []


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("ext4-default", ["-E", "lazy_itable_init=0,lazy_journal_init=0"]),
        ("xfs-default", []),
        ("btrfs", []),
    ],
)
def test_nothing_of_mkfs_is_left_for_later(option: str, wanted: list[str]) -> None:
    known = {one.name: one.filesystem for one in matrix.options()[0]}
    ((*_, disk),) = argvs = filesystem.mkfs_argvs(known[option], "/dev/vdb", None)
    assert disk == "/dev/vdb"
    assert argvs[0][2:-1] == wanted


def test_the_options_of_mkfs_are_joined() -> None:
    """Of several -E the last one counts."""
    made = FileSystem("ext4", mkfs_options=("-E", "stride=4", "-m", "0"))
    (argv,) = filesystem.mkfs_argvs(made, "/dev/vdb", None)
    at_once = "lazy_itable_init=0,lazy_journal_init=0,stride=4"
    assert argv[2:] == ["-E", at_once, "-m", "0", "/dev/vdb"]


def test_what_is_no_run_is_never_removed(tmp_path: Path) -> None:
    precious = tmp_path / "tmpfs/1/precious"
    precious.parent.mkdir(parents=True)
    precious.touch()
    with pytest.raises(UserError, match="is not a run of a comparison"):
        plan.write(tmp_path, *plan.make(wanted("tmpfs")))
    assert precious.exists()


def test_every_disk_of_the_tree_says_where_it_comes_from() -> None:
    paths = sorted(matrix.PROFILES.glob("*.toml"))
    assert len(paths) >= 4
    for path in paths:
        found, _ = matrix.profile(path.stem)
        assert found.provenance.startswith(("A model, not a recording", "Recorded"))


PROFILE = """
name = "mine"
purpose = "Mine."
provenance = "Recorded by nobody."
[[inject]]
delay = "lognormal 1ms 0.5"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name: missing: the file's name without .toml"),
        (PROFILE.replace('"mine"', '"yours"'), "name: want 'mine', the file's name"),
        (
            PROFILE.replace("lognormal", "log"),
            "inject[0].delay: want one of: normal MEAN STDDEV, lognormal MEDIAN"
            " SIGMA, pareto MINIMUM ALPHA, uniform LEAST MOST",
        ),
        (PROFILE.replace("[[inject]]", "[[injects]]"), "injects: unknown key, did you"),
    ],
)
def test_a_bad_disk_gets_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        matrix.profile(str(path))
    (line,) = refused.value.lines
    assert line.startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "dying-hd"), "'dying-hd' is not known, did you mean dying-hdd?"),
        (("--fs", "xfs,zfs"), "file system or option 'zfs' is not known"),
        (("--workload", "append"), "scenario 'append' is not known"),
        (("--rounds", "0"), "--rounds: '0': want 1 to 1000"),
        (("--budget", "2"), "--budget: '2': want a time like 2h or 90min"),
        (("--margin", "2"), "--margin 2: want a factor above 0, like 1.2x"),
        (("--objective", "fast"), "--objective fast: want one like 'over 65ms < 0.1%'"),
        (("--slo", "65"), "--slo 65: want a time with its unit, like 65ms or 1.5s"),
        (("--left", "/nonexistent"), "/nonexistent/plan.json: "),
        (("--out", "/proc/nowhere"), "/proc/nowhere"),
    ],
)
def test_bad_words_get_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = subprocess.run(
        [sys.executable, str(PROJECT / "repro/plan"), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_command_gets_the_load_and_keeps_its_packages() -> None:
    loaded = dataclasses.replace(wanted("xfs-default"), loads=(50, 100))
    made, cells = plan.make(
        dataclasses.replace(loaded, work=reading.load(reading.find("etcd"))[1])
    )
    assert made["workload"]["machine"] == {"packages": ["etcd-server"]}
    for cell in cells:
        found = reading.parse(cell.text, "x", Path(cell.scenario).stem)
        assert found.machine.packages == ("etcd-server",)
        for work in found.workload:
            assert isinstance(work, Command)
            assert work.load_percent == cell.load


@pytest.mark.parametrize(
    "name", [plans.FILE, f"{plans.FILE}.part", "scenarios/1/tmpfs.toml"]
)
def test_a_plan_is_not_written_through_a_link(name: str, tmp_path: Path) -> None:
    """The guests of a comparison can write where its plan is."""
    mine, folder = tmp_path / "mine", tmp_path / "compared"
    mine.write_text("mine")
    (folder / name).parent.mkdir(parents=True)
    (folder / name).symlink_to(mine)
    plan.write(folder, *plan.make(wanted("tmpfs")))
    assert mine.read_text() == "mine"
    assert "cells" in (folder / plans.FILE).read_text()
