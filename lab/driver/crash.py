# SPDX-License-Identifier: GPL-2.0-only
"""crash: file systems to what each keeps when its machine is cut, in one table.

Two machines for each: one that resets itself amid its writes, one that finds the disks
which the first left behind (repro/labrun/crash.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from driver import lab, pages
from driver.lab import PREPARING, Records, tool
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
LIMIT_S = 3600 + 180  # repro/crash writes for an hour at most
# Of the file that is never synced, then of the one that is, in records of 512 bytes.
HEAD = (
    *("option", "written", "lost", "lost time", "torn"),
    *("fsynced", "lost though fsynced", "torn beside them"),
)
Data = dict[str, Any]


def _options(words: str) -> list[str]:
    """Names of the options asked for; what repro/crash refuses is refused so."""
    command = tool("repro/crash", "list", words)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(done.stderr.strip().splitlines()[-1])
    return done.stdout.split()


def _machine(
    phase: str, where: tuple[Path, str, str], option: str, disks: str
) -> list[str]:
    """The command of one phase on one option; `where`: see _kept()."""
    folder, kernel, built = where
    name = f"{option}.{phase}"
    records = Records(folder / f"{name}.log", folder / f"{name}.json", LIMIT_S)
    inside = ["repro/crash", phase, option, "--disk", "/dev/vdb"]
    inside += [
        "--journal-disk",
        "/dev/sda",
        "--seconds",
        lab.positive("DURATION", SECONDS),
    ]
    inside += ["--promises", f"/mnt/out/{option}.promises"]
    inside += ["--kept", f"/mnt/out/{option}.kept.json", "--cut-this-machine"]
    stay = ("--disks", disks)
    return lab.machine_command(kernel, folder, built, records, inside, *stay)


def _kept(log: StageLog, where: tuple[Path, str, str], option: str) -> Data:
    """Cut a machine, then see what the next one finds.

    `where` is the folder of the results, the kernel, and its compiled parts.
    """
    with tempfile.TemporaryDirectory(prefix="writestall-") as disks:
        with suppress(UserError):
            log.run(_machine("write", where, option, disks))
        if log.status != EXIT_LOST:
            raise UserError(f"{option}: the machine was not cut, see the log")
        log.run(_machine("check", where, option, disks))
    kept: Data = json.loads((where[0] / f"{option}.kept.json").read_text())
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
    options = _options(os.environ.get("FS") or "")
    kernel = recipe.load(os.environ.get("KERNEL")).kernel
    lab.positive("DURATION", SECONDS)
    progress = Progress(STAGES, cache.root() / "logs")
    folder = OUT / f"{time.strftime('%Y%m%d-%H%M%S')}-crash-{kernel}"
    try:
        _, built = lab.prepare(progress, kernel)
        folder.mkdir(parents=True)
        with progress.stage() as log:
            where = (folder, kernel, built)
            found = [_kept(log, where, option) for option in options]
            log.note = str(folder)
    except StageError as failed:
        return failed.status
    (folder / "crash.json").write_text(json.dumps(found, indent=1) + "\n")
    print(f"\n{table(found)}")
    print(f"the same as data: {folder / 'crash.json'}")
    return 0
