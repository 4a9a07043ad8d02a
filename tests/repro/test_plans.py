# SPDX-License-Identifier: GPL-2.0-only
"""This test will read plans of comparisons that a guest has changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labrun.comparison import plan
from labrun.comparison.matrix import profile
from labrun.scenario import reading
from writestall_base import plans
from writestall_base.errors import UserError

OUTSIDE = ("..", "../x", "/etc", "a/../../x", "", ".", "a//b", "a/b/c/d")
Change = Callable[[dict[str, Any], str], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A planned comparison."""
    disk, work = profile("dying-hdd")[1], reading.load(reading.find("appenders"))[1]
    wanted = plan.Wanted(disk, work, ("xfs-default",), 1, 2, 1, 0, "")
    plan.write(tmp_path, *plan.make(wanted))
    return tmp_path


def changed(folder: Path, change: Change, to: str) -> None:
    found = json.loads((folder / plans.FILE).read_text())
    change(found, to)
    (folder / plans.FILE).write_text(json.dumps(found))


@pytest.mark.parametrize("to", OUTSIDE)
@pytest.mark.parametrize(
    "change",
    [
        lambda found, to: found["cells"][0].update(name=to),
        lambda found, to: found["cells"][0].update(scenario=to),
        lambda found, to: found["options"][0].update(name=to),
        lambda found, to: found["options"][0].update(crash=to),
    ],
    ids=["cell", "scenario", "option", "crash"],
)
def test_no_name_leads_out_of_the_folder(folder: Path, change: Change, to: str) -> None:
    assert plans.read(folder)["rounds"] == 1
    changed(folder, change, to)
    with pytest.raises(UserError, match="leads out of its folder"):
        plan.unfinished(folder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "not a comparison"),
        ("{", "not a plan"),
        ("[]", "not a plan"),
        ('{"format": 2}', "format 2, this version reads 1"),
        ('{"format": 1, "options": [{"name": 7}]}', "not a plan"),
    ],
)
def test_what_is_no_plan_is_named(tmp_path: Path, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / plans.FILE).write_text(text)
    with pytest.raises(UserError, match=why):
        plans.read(tmp_path)


def test_a_link_in_a_runs_place_is_not_moved(folder: Path, tmp_path: Path) -> None:
    (folder / plan.DISTURBED).symlink_to(tmp_path.parent)
    with pytest.raises(UserError, match="a symbolic link"):
        plan.set_disturbed_aside(folder)
