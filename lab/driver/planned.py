# SPDX-License-Identifier: GPL-2.0-only
"""planned: the runs of a planned comparison that are left, and their machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from driver.machines import OUT, Needs, Records, machine_command
from driver.project import answer
from driver.settings import Settings
from writestall_base import plans

# A run takes its workload's time and about this much more under TCG.
BESIDE_S = 120


@dataclass(frozen=True)
class Planned:
    """A planned comparison: its folder, its machines' settings, its engine.

    The settings' kernel is that of the machines to start; cells of other kernels are in
    the plan, too.
    """

    folder: Path
    settings: Settings
    engine: str

    def left(self, repeat: bool = False) -> list[str]:
        """The cells that are not complete, in the order of running.

        With `repeat`, runs that the host disturbed are set aside first: they are left,
        too. Only where no run is going on.
        """
        more = ["--repeat-disturbed"] if repeat else []
        return answer("repro/plan", "--left", str(self.folder), *more).split()

    def together(self, left: Sequence[str]) -> tuple[list[str], str | None]:
        """The first of these cells and those behind it that share its machine, and the
        name of its kernel where there are several."""
        cells = self._cells
        first = cells[left[0]]
        machine = first.get("machine")
        found = takewhile(lambda name: cells[name].get("machine") == machine, left)
        return list(found), first.get("kernel")

    @property
    def rounds(self) -> dict[str, int]:
        """The round of each cell."""
        return {name: int(cell["round"]) for name, cell in self._cells.items()}

    @property
    def minutes(self) -> int:
        """The time limit of a job that does a round: an hour more than it may take."""
        plan = self._plan
        runs = len(plan["cells"]) // int(plan["rounds"])
        return 60 + runs * (int(plan["duration_s"]) + BESIDE_S) // 60

    def consoles(self, prefix: str = "") -> list[Path]:
        """The consoles of the machines that were begun, or of those of that name."""
        return sorted((self.folder / "machines").glob(f"{prefix}*.console.log"))

    def machine(self, name: str, cells: list[str], artefacts: str) -> list[str]:
        """The command that boots a machine for some cells.

        `name` is that of the machine's own files below machines/.
        """
        inside = ["repro/run", "--plan", OUT, "--build", "/mnt/build", "--wipe"]
        inside += ["--disk", "/dev/vdb", "--journal-disk", "/dev/sda"]
        inside += ["--engine", self.engine, "--progress", "none"]
        inside += [word for cell in cells for word in ("--only", cell)]
        machines = self.folder / "machines"
        machines.mkdir(exist_ok=True)
        records = Records(
            machines / f"{name}.console.log",
            machines / f"{name}.json",
            len(cells) * (self._plan["duration_s"] + BESIDE_S) + BESIDE_S,
        )
        needs = Needs.of(self._plan["workload"].get("machine", {}))
        return machine_command(
            self.settings, self.folder, artefacts, records, inside, *needs.options
        )

    @property
    def _cells(self) -> dict[str, dict[str, Any]]:
        return {cell["name"]: cell for cell in self._plan["cells"]}

    @property
    def _plan(self) -> dict[str, Any]:
        return plans.read(self.folder)
