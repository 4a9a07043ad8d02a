# SPDX-License-Identifier: GPL-2.0-only
"""This test will read from a plan the command that repeats its comparison."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import pytest

from driver import settings
from driver.cluster import Cluster
from driver.commands import compare
from driver.project import answer
from writestall.compare import planned


def parsed(words: str) -> dict[str, object]:
    """The options of a command."""
    parser = argparse.ArgumentParser()
    compare.arguments(parser)
    return vars(parser.parse_args(shlex.split(words)))


@pytest.mark.parametrize(
    "words",
    [
        "--fs ext4-default",
        "--fs ext4-default --kernel 7.2 --rounds 1 --trial --engine core --accel tcg",
        "--fs xfs-default --kernel 6.12,7.2 --cuts 20 --volatile-cache --cut 9",
        "--fs xfs-default --cut 0 --jobs 2 --executor slurm --budget 2h",
        "--fs xfs-default,f2fs --objective 'over 65ms < 1%' --margin 1.2x --may-lose"
        " --by p99 --slo 100ms --effect 2x --load 50,100 --aged 30 --seed 7",
    ],
)
def test_the_command_that_repeats_it_asks_for_the_same(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "engine", lambda asked, _: asked or "stap")
    monkeypatch.setattr(Cluster, "wanted", lambda *_: None)
    given = parsed(f"{words} --out {tmp_path}")
    request = compare.read(argparse.Namespace(**given))
    answer("repro/plan", "--out", str(tmp_path), *request.planned)
    plan = json.loads((tmp_path / "plan.json").read_text())
    again = parsed(planned.command(plan).removeprefix("writestall compare "))
    defaults = {"profile": "dying-hdd", "workload": "appenders"}
    defaults |= {"baseline": plan["options"][0]["name"], "seed": "1"}
    defaults |= {"duration": "12", "rounds": str(plan["rounds"])}
    asked = {name: value or defaults.get(name, value) for name, value in given.items()}
    assert again == asked | {"out": again["out"]}
    assert planned.fixed(plan) == planned.fixed(plan | {"beside": "--jobs 9"})
