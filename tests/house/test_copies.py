# SPDX-License-Identifier: GPL-2.0-only
"""test_copies: compare what two packages state separately, each for its own use.

What both would state alike is in base/ instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from drill.sleeps import PUT_TO_SLEEP
from driver import artefacts as lab_artefacts
from driver import own_command
from labrun.comparison import of_command
from labrun.injectors import biodelay
from labrun.run import artefacts, tracer
from labrun.setup import disk
from launcher import options
from launcher.errors import TraceError
from support import PROJECT
from writestall.classify.rules import form
from writestall_base.errors import UserError


@pytest.mark.parametrize("kind", [form.LOCK, form.PAGE, form.BUFFER])
def test_the_drill_down_trims_no_function_that_rules_look_for(kind: str) -> None:
    """It removes frames that show how a task sleeps, and keeps those that show on what:
    the drill-down also runs where there are no rules."""
    for name in form.SLEEPS[kind]:
        assert not PUT_TO_SLEEP.fullmatch(name.removesuffix("*")), name


def test_the_lab_hands_on_every_option_of_a_command() -> None:
    """The host's parser and that of the machine, which makes the scenario."""
    parser = argparse.ArgumentParser()
    of_command.arguments(parser)
    metavars = {
        action.option_strings[0].removeprefix("--"): action.metavar
        for action in parser._actions
    }
    for name, (metavar, _) in own_command.SCENARIO.items():
        assert metavars.pop(name) == metavar
    # The driver hands on --packages as a need of the machine's.
    assert set(metavars) == {"-h", "packages", "print"}


def test_both_refuse_what_is_not_a_block_device(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, reason in (("none", "No such file"), ("file", "block device")):
        path = str(tmp_path / name)
        for call, error in (
            (disk.identify, UserError),
            (options.device_number, TraceError),
        ):
            with pytest.raises(error, match=f"{path}.*{reason}"):
                call(path)


def test_runs_and_the_lab_build_by_the_same_recipes(tmp_path: Path) -> None:
    """The lab builds in the image for any kernel, a run on its machine for the running
    one: both by kmod/Makefile, repro/Makefile and trace/build."""
    parts = {part.name: part for part in lab_artefacts.PARTS}
    for name, part in {
        biodelay.MODULE: parts["biodelay"],
        "latwriter": parts["workloads"],
        f"{tracer.SCRIPT}.ko": parts["stap"],
    }.items():
        (command, *_) = artefacts.commands(tmp_path / name)
        program = Path(command[0]).name
        assert program in ("make", "build")
        assert f"{program} " in part.command
        if program == "make":
            assert command[2] == str(PROJECT / part.source)
        else:
            assert command[0].removeprefix(f"{PROJECT}/") in part.tools
