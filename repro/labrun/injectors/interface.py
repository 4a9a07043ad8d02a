# SPDX-License-Identifier: GPL-2.0-only
"""interface: the methods that a run calls on its injector, stage by stage.

The class Injector adds no delay and keeps no record: it is used for a scenario without
rules. An injector is a subclass that overrides the stages it takes part in, and a row
of registry.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from labrun.scenario.keys import Scenario
from labrun.setup.disk import Disks
from writestall_base.steps import Run


class Injector:
    """Adds no delay.

    module  file name of the compiled part it needs, if any
    tools   programs it calls
    """

    name: ClassVar[str] = "none"
    module: ClassVar[str | None] = None
    tools: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, scenario: Scenario, disks: Disks, built: Path, bare_metal: bool
    ) -> None:
        self.scenario = scenario
        self.disks = disks
        self.built = built
        self.bare_metal = bare_metal

    @classmethod
    def refusals(cls, scenario: Scenario) -> Iterator[str]:
        """List what it cannot do of a scenario's rules, a line each."""
        yield from ()

    @staticmethod
    def problems() -> Iterator[str]:
        """List what this machine lacks for it, a line each with its remedy."""
        yield from ()

    def carriers(self) -> Disks:
        """Return the disks of the file systems after stacked(), for --dry-run."""
        return self.disks

    def stack_commands(self) -> list[list[str]]:
        """List the commands of stacked(), as typed in a shell."""
        return []

    def load_commands(self) -> list[list[str]]:
        """List the commands of loaded() and armed()."""
        return []

    @contextmanager
    def stacked(self, run: Run) -> Iterator[Disks]:
        """Set up the disks of the file systems, before these are made."""
        yield self.disks

    @contextmanager
    def loaded(self, run: Run) -> Iterator[None]:
        """Set up without delays, before the tracers start."""
        yield

    @contextmanager
    def armed(self, run: Run) -> Iterator[None]:
        """Delay inside, and only there."""
        yield

    def drain(self) -> None:
        """Save the record so far; called every second."""
