# SPDX-License-Identifier: GPL-2.0-only
"""injector: what a run asks, stage by stage, of whatever slows its disks.

This one slows nothing and keeps no record: it serves a scenario without rules.
A way to slow disks is a class that overrides what it has something to do at, and a
row of ways.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from labrun.scenario.keys import Scenario
from labrun.setup.disk import Disks
from labrun.steps import Run


@dataclass(frozen=True)
class Steps:
    """The names of the steps that each stage of a run that goes well has."""

    stack: tuple[str, ...] = ()
    load: tuple[str, ...] = ()
    arm: tuple[str, ...] = ()
    disarm: tuple[str, ...] = ()
    unload: tuple[str, ...] = ()
    unstack: tuple[str, ...] = ()


class Injector:
    """Slows nothing.

    module  file name of the compiled part it needs, if any
    tools   programs it calls
    """

    name: ClassVar[str] = "none"
    module: ClassVar[str | None] = None
    tools: ClassVar[tuple[str, ...]] = ()
    steps: ClassVar[Steps] = Steps()

    def __init__(
        self, scenario: Scenario, disks: Disks, built: Path, bare_metal: bool
    ) -> None:
        self.scenario = scenario
        self.disks = disks
        self.built = built
        self.bare_metal = bare_metal

    @staticmethod
    def refusals(scenario: Scenario) -> Iterator[str]:
        """What it cannot do of a scenario's rules, one line each."""
        yield from ()

    @staticmethod
    def problems() -> Iterator[str]:
        """What this machine lacks for it, one line each, remedy at the end."""
        yield from ()

    def carriers(self) -> Disks:
        """What carries the file systems once it is stacked, as far as foreseen."""
        return self.disks

    def stack_commands(self) -> list[list[str]]:
        """What stacking stands for, as a person would type it."""
        return []

    def load_commands(self) -> list[list[str]]:
        """The same of loading and arming."""
        return []

    @contextmanager
    def stacked(self, run: Run) -> Iterator[Disks]:
        """Before the file systems are made: what is to carry them."""
        yield self.disks

    @contextmanager
    def loaded(self, run: Run) -> Iterator[None]:
        """Before anything traces: all set up, and nothing slow yet."""
        yield

    @contextmanager
    def armed(self, run: Run) -> Iterator[None]:
        """Delays happen inside, and nowhere else."""
        yield

    def drain(self) -> None:
        """Called every second: carry over what was recorded so far."""
