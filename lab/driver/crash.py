# SPDX-License-Identifier: GPL-2.0-only
"""crash: file systems to what each keeps when its machine is cut, in one table.

Two machines for each: one that resets itself amid its writes, one that finds the disks
which the first left behind (repro/labrun/crash/cli.py).
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driver import lab, pages
from driver.lab import PREPARING, Records
from driver.progress import Progress, Stage, StageError, StageLog
from driver.project import OUT, cache, recipe
from machine.errors import EXIT_LOST, UserError

STAGES = (
    *PREPARING,
    Stage("machines", "the folder has each machine's console"),
)
# Dirty pages wait for 30 s, then up to 5 s for the flusher, by default
# (mm/page-writeback.c, dirty_expire_interval, dirty_writeback_interval): less shows
# only that a file had not been written at all.
SECONDS = 45
BESIDE_S = 180
# Of the file that is never synced, then of the one that is, in records of 512 bytes.
HEAD = (
    *("option", "written", "lost", "lost time", "torn"),
    *("fsynced", "lost though fsynced", "torn beside them"),
)
Data = dict[str, Any]


@dataclass(frozen=True)
class Cut:
    """Where the results go, the kernel, its compiled parts, and seconds of writing.

    What an option kept is `OPTION.json` there. Where it has a scenario, the disk is as
    slow as that says.
    """

    folder: Path
    kernel: str
    built: str
    seconds: str
    scenarios: dict[str, Path] = field(default_factory=dict)

    def machine(self, phase: str, option: str, disks: str) -> list[str]:
        """The command of one phase on one option."""
        name = self.folder / f"{option}.{phase}"
        limit_s = int(self.seconds) + BESIDE_S
        records = Records(Path(f"{name}.log"), Path(f"{name}.verdict"), limit_s)
        inside = ["repro/crash", phase, option, "--disk", "/dev/vdb"]
        inside += ["--journal-disk", "/dev/sda", "--seconds", self.seconds]
        inside += ["--promises", f"/mnt/out/{option}.promises"]
        inside += ["--kept", f"/mnt/out/{option}.json", "--cut-this-machine"]
        more = ["--disks", disks]
        if path := self.scenarios.get(option):
            more += ["--share", f"{path.parent}:/mnt/scenarios:ro"]
            inside += ["--scenario", f"/mnt/scenarios/{path.name}"]
            inside += ["--build", "/mnt/build"]
        return lab.machine_command(
            self.kernel, self.folder, self.built, records, inside, *more
        )

    def kept(self, log: StageLog, option: str) -> Data:
        """Cut a machine, then see what the next one finds."""
        with tempfile.TemporaryDirectory(prefix="writestall-") as disks:
            with suppress(UserError):
                log.run(self.machine("write", option, disks))
            if log.status != EXIT_LOST:
                raise UserError(f"{option}: the machine was not cut, see the log")
            log.run(self.machine("check", option, disks))
        kept: Data = json.loads((self.folder / f"{option}.json").read_text())
        return kept


def _row(kept: Data) -> list[str]:
    plain, synced = kept["plain"], kept["synced"]
    back_ms = plain["lost_ms"]
    return [
        str(kept["option"]),
        str(plain["written"]),
        str(plain["lost"]),
        "all" if back_ms is None else f"{back_ms / 1000:.1f} s",
        str(plain["torn"]),
        str(synced["synced"]),
        str(synced["lost_synced"]),
        str(synced["torn"]),
    ]


def table(found: Iterable[Data]) -> str:
    """What each option kept, as Markdown."""
    return pages.table(HEAD, map(_row, found))


def main() -> int:
    """Cut a machine for each option; print the table."""
    options = lab.answer("repro/crash", "list", os.environ.get("FS") or "").split()
    kernel = recipe.load(os.environ.get("KERNEL")).kernel
    seconds = lab.whole("DURATION", SECONDS)
    progress = Progress(STAGES, cache.root() / "logs")
    folder = OUT / f"{time.strftime('%Y%m%d-%H%M%S')}-crash-{kernel}"
    try:
        _, built = lab.prepare(progress, kernel)
        folder.mkdir(parents=True)
        with progress.stage() as log:
            cut = Cut(folder, kernel, built, seconds)
            found = [cut.kept(log, option) for option in options]
            log.note = str(folder)
    except StageError as failed:
        return failed.status
    (folder / "crash.json").write_text(json.dumps(found, indent=1) + "\n")
    print(f"\n{table(found)}")
    print(f"the same as data: {folder / 'crash.json'}")
    return 0
