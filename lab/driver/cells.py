# SPDX-License-Identifier: GPL-2.0-only
"""cells: a planned comparison's folder to what is left of it and its machines."""

from __future__ import annotations

import json
from pathlib import Path

from driver.lab import Records, answer, machine_command

# A run's workload is a part of its time under TCG.
BESIDE_S = 120


def left(folder: Path) -> list[str]:
    """The cells that are not complete, in the order of running."""
    return answer("repro/plan", "--left", str(folder)).split()


def machine(
    where: tuple[Path, str, str], name: str, cells: list[str], artefacts: str
) -> list[str]:
    """The command that boots a machine for some cells.

    `where` is the comparison's folder, kernel and engine; `name` is that of the
    machine's own files below machines/.
    """
    folder, kernel, engine = where
    inside = ["repro/run", "--plan", "/mnt/out", "--build", "/mnt/build", "--wipe"]
    inside += ["--disk", "/dev/vdb", "--journal-disk", "/dev/sda"]
    inside += ["--engine", engine, "--progress", "none"]
    inside += [word for cell in cells for word in ("--only", cell)]
    duration_s = json.loads((folder / "plan.json").read_text())["duration_s"]
    machines = folder / "machines"
    machines.mkdir(exist_ok=True)
    records = Records(
        machines / f"{name}.console.log",
        machines / f"{name}.json",
        len(cells) * (duration_s + BESIDE_S) + BESIDE_S,
    )
    return machine_command(kernel, folder, artefacts, records, inside)
