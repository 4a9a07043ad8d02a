# SPDX-License-Identifier: GPL-2.0-only
"""crash: cut a machine while it writes, and show what each file system kept.

Two machines for each: the first has its power cut while it writes, the second checks
the disks that the first left (repro/labrun/crash/cli.py).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

from driver import cuts, pages, settings, volatile
from driver.cuts import Drawn
from driver.machines import OUT, PREPARING, Records, machine_command, prepare
from driver.progress import Progress, Stage, StageLog
from driver.project import answer
from driver.settings import Settings
from machine import qemu
from machine.statuses import EXIT_CUT
from writestall_base import files
from writestall_base.command_line import whole
from writestall_base.errors import UserError

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
class Cache:
    """A volatile cache of the disk: each write that no flush followed is lost with that
    chance."""

    seed: str
    chance: float


@dataclass(frozen=True)
class Cut:
    """Where the results go, the machines, their compiled parts, seconds of writing.

    OPTION.json there says what an option kept. A scenario makes the disk as slow as it
    says.
    """

    folder: Path
    settings: Settings
    built: str
    seconds: float
    scenarios: dict[str, Path] = field(default_factory=dict)
    mode: str | None = None  # of the scenarios' rules; None: their own
    cache: Cache | None = None  # what the disk loses; None: nothing

    def machine(self, phase: str, option: str, disks: str) -> list[str]:
        """The command of one phase on one option."""
        name = self.folder / f"{option}.{phase}"
        limit_s = int(self.seconds) + BESIDE_S
        records = Records(Path(f"{name}.log"), Path(f"{name}.verdict"), limit_s)
        inside = ["repro/crash", phase, option, "--disk", "/dev/vdb"]
        inside += ["--journal-disk", "/dev/sda", "--seconds", str(self.seconds)]
        inside += ["--promises", f"{OUT}/{option}.promises"]
        inside += ["--kept", f"{OUT}/{option}.json", "--cut-this-machine"]
        more = ["--disks", disks]
        more += ["--log-writes"] if self.cache and phase == "write" else []
        if path := self.scenarios.get(option):
            more += ["--share", f"{path.parent}:/mnt/scenarios:ro"]
            inside += ["--scenario", f"/mnt/scenarios/{path.name}"]
            inside += ["--build", "/mnt/build"]
            inside += ["--mode", self.mode] if self.mode else []
        return machine_command(
            self.settings, self.folder, self.built, records, inside, *more
        )

    def kept(self, log: StageLog, option: str) -> Data:
        """Cut a machine, then check in the next one what is left."""
        with tempfile.TemporaryDirectory(prefix="writestall-") as disks:
            with suppress(UserError):
                log.run(self.machine("write", option, disks))
            if log.status != EXIT_CUT:
                raise UserError(f"{option}: the machine was not cut, see the log")
            lost = self._lose(Path(disks))
            try:
                log.run(self.machine("check", option, disks))
            finally:
                self._note(option, lost)
        return dict(json.loads(files.content(self.folder / f"{option}.json")))

    def _note(self, option: str, lost: Data) -> None:
        """Add what the disk lost, also where the kernel complained of what is left."""
        path = self.folder / f"{option}.json"
        if self.cache and path.exists():
            kept = json.loads(files.content(path))
            kept |= {"cache": asdict(self.cache) | lost}
            text = json.dumps(kept, indent=1) + "\n"
            files.save_inside(self.folder, path.name, text.encode())

    def _lose(self, disks: Path) -> Data:
        """Take from both disks what their cache loses; how many writes those are."""
        if not self.cache:
            return {}
        found = [
            volatile.lose(path, qemu.write_log(path), *astuple(self.cache))
            for path in (disks / "blk0", disks / "scsi0")
            if qemu.write_log(path).stat().st_size
        ]
        names = ("unflushed", "lost")
        return {name: sum(getattr(one, name) for one in found) for name in names}


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


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    fs = "file systems or options of repro/matrix.toml (all that have a disk)"
    add("--fs", default="", metavar="A,B", help=fs)
    seconds = f"of writing ({SECONDS})"
    add("--duration", type=whole(), default=SECONDS, metavar="S", help=seconds)
    many = "cut N machines, at random moments up to --duration, under random delays"
    add("--cuts", type=whole(), metavar="N", help=many)
    add("--seed", type=whole(), default=1, metavar="N", help="of --cuts (1)")
    settings.arguments(parser)


def _drawn(log: StageLog, cut: Cut, drawn: list[Drawn]) -> list[Data]:
    """Cut a machine for each draw, in a folder of its own."""
    found = []
    for number, one in enumerate(drawn):
        folder = cut.folder / f"{number:03}"
        folder.mkdir()
        scenarios = {one.option: one.path} if one.path else {}
        mine = replace(cut, folder=folder, seconds=one.seconds, scenarios=scenarios)
        kept = replace(mine, mode=one.mode).kept(log, one.option)
        found.append(kept | {"cut": asdict(one)})
    return found


def main(args: argparse.Namespace) -> int:
    """Cut machines; print the table."""
    shared = settings.read(args)
    options = answer("repro/crash", "list", args.fs).split()
    progress = Progress(STAGES, shared.verbose)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = shared.out / f"{stamp}-crash-{shared.kernel_name}"
    _, built = prepare(progress, shared)
    folder.mkdir(parents=True)
    with progress.stage() as log:
        cut = Cut(folder, shared, built, args.duration)
        if args.cuts:
            drawn = cuts.draw(options, args.cuts, args.duration, args.seed)
            found = _drawn(log, cut, drawn)
        else:
            found = [cut.kept(log, option) for option in options]
        log.note = str(folder)
    kept = json.dumps(found, indent=1) + "\n"
    files.save_inside(folder, "crash.json", kept.encode())
    print(f"\n{cuts.table(found) if args.cuts else table(found)}")
    print(f"the same as data: {folder / 'crash.json'}")
    return 0
