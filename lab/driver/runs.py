# SPDX-License-Identifier: GPL-2.0-only
"""runs: the request for a run of a scenario, its run directory and its analysis."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

from driver import recorded, settings
from driver.commands import setup
from driver.machines import Needs, Records, machine_command
from driver.progress import StageLog
from driver.project import answer
from driver.settings import Settings
from machine.commands import said
from writestall_base import files
from writestall_base.command_line import words
from writestall_base.errors import UserError
from writestall_base.folders import refuse_special

DEFAULT_INJECTOR = "biodelay"
# A run may take its workload's time and this much for all else under TCG.
RUN_LIMIT_S = 1_200
# Where the guest sees aside(), read-only.
ASIDE = "/mnt/aside"


@dataclass(frozen=True)
class Request:
    """A scenario, and how it is to run."""

    settings: Settings
    scenario: str
    engine: str
    injector: str
    mode: str  # empty: the scenario's own
    needs: Needs
    duration_s: int | None = None  # None: the scenario's
    command: tuple[str, ...] = ()  # repro/run's words, instead of a scenario
    recorded: Path | None = None  # a run whose disk is replayed
    recorded_device: str | None = None  # which of its disks
    makes_calls: bool = False  # the run's calls are made again, too

    @property
    def run_name(self) -> str:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        path, _, variant = self.scenario.partition(":")
        words = [Path(path).stem, variant, self.settings.kernel_name, self.engine]
        words += [self.injector] * (self.injector != DEFAULT_INJECTOR)
        words += [self.mode]
        return "-".join([stamp, *filter(None, words)])

    @property
    def chosen(self) -> list[str]:
        """What repro/run is to run, on the host."""
        return list(self.command) or [self.scenario]

    @property
    def limit_s(self) -> int:
        """How long its machine may take."""
        return RUN_LIMIT_S + (self.duration_s or 0)

    @property
    def injecting(self) -> list[str]:
        """The options of repro/run that choose the injector."""
        return words({"injector": self.injector, "mode": self.mode or None})

    @property
    def run_arguments(self) -> list[str]:
        """The options of repro/run in the guest."""
        disks = {"disk": "/dev/vdb", "journal_disk": "/dev/sda"}
        how = {"engine": self.engine, "duration_s": self.duration_s}
        given = words(disks | how | {"build": "/mnt/build"})
        return [*given, *self.injecting, *self.replaying(Path(ASIDE))]

    def replaying(self, place: Path) -> list[str]:
        """The options of repro/run that replay a disk; its series is in a folder."""
        if self.recorded is None:
            return []
        series = place / recorded.SERIES
        return words({"from": series, "from_device": self.recorded_device})


def arguments(
    parser: argparse.ArgumentParser, scenario: str, engines: Sequence[str]
) -> None:
    """Add what read() reads; `scenario` is the default one."""
    add = parser.add_argument
    where = "a name of `writestall scenarios`, NAME:VARIANT, or a file"
    add("scenario", nargs="?", help=f"{where} ({scenario})")
    parser.set_defaults(default_scenario=scenario)
    settings.add_engine(parser, engines)
    injector = f"biodelay, dm-delay or scsi_debug ({DEFAULT_INJECTOR})"
    add("--injector", default=DEFAULT_INJECTOR, metavar="NAME", help=injector)
    mode = "how biodelay delays a bio: sleep, defer or spin (the scenario's)"
    add("--mode", default="", metavar="NAME", help=mode)
    settings.arguments(parser)


def read(args: argparse.Namespace) -> Request:
    """The request; refuse at once what does not exist or cannot be combined."""
    shared = settings.read(args)
    how = (settings.engine(args.engine, shared.kernel), args.injector, args.mode)
    scenario = args.scenario or args.default_scenario
    return checked(Request(shared, scenario, *how, Needs()))


def checked(request: Request) -> Request:
    """The request with what its machine must have by its scenario; or refuse it."""
    on = ("--kernel", request.settings.kernel_name)
    answer("repro/run", "--check", *on, *request.chosen, *request.injecting)
    table = json.loads(answer("repro/run", "--list-machine", *request.chosen))
    of_scenario, asked = Needs.of(table), request.needs
    needs = Needs(
        tuple(sorted({*of_scenario.packages, *asked.packages})),
        asked.memory_mib or of_scenario.memory_mib,
        asked.shares,
        of_scenario.jars,
    )
    settings.check_room()
    return replace(request, needs=needs)


def aside(run: Path) -> Path:
    """Where the machine's console and verdict are until the run has ended."""
    return run.with_name(f".{run.name}")


def run_command(
    request: Request, run: Path, artefacts: str, command: list[str], limit_s: int
) -> list[str]:
    """The machine of one run: it writes to the run's folder, and to no other of out/.

    Its own files are in aside(run).
    """
    place = aside(run)
    records = Records(place / "console.log", place / "machine.json", limit_s)
    more = [*request.needs.options, "--share", f"{place}:{ASIDE}:ro"]
    return machine_command(request.settings, run, artefacts, records, command, *more)


def begin(request: Request, run: Path) -> Request:
    """Make the run's folder and aside(run); return the request with the scenario's
    name in the guest.

    The guest sees the checkout, and both folders: a scenario file of any other place is
    copied to aside(run).
    """
    run.mkdir(parents=True)
    aside(run).mkdir()
    path, colon, variant = request.scenario.partition(":")
    if not path.endswith(".toml"):
        return request
    copied = aside(run) / Path(path).name
    if request.command:
        copied.write_text(answer("repro/run", *request.command, "--print") + "\n")
    else:
        shutil.copy(path, copied)
    return replace(request, scenario=f"{ASIDE}/{copied.name}{colon}{variant}")


def end(run: Path, link: str = "latest") -> None:
    """Move the machine's files into the run; make out/LINK name the run.

    The guest could write there: what it linked is neither read nor written through.
    """
    run.mkdir(exist_ok=True)
    for folder in (run, aside(run)):
        if folder.is_symlink():
            raise UserError(f"{folder}: a symbolic link, made by the guest; remove it")
        refuse_special(folder)
    for file in aside(run).iterdir():
        file.replace(run / file.name)
    aside(run).rmdir()
    _finish_manifest(run)
    new = run.parent / f".latest-{os.getpid()}"
    new.symlink_to(run.name)
    new.replace(run.parent / link)


def _finish_manifest(run: Path) -> None:
    """Add the machine's verdict; a run is not `running` once its machine has ended."""
    manifest, machine = run / "manifest.json", run / "machine.json"
    if not manifest.exists():
        return
    table = json.loads(files.content(manifest))
    if machine.exists():
        table["machine"] = json.loads(files.content(machine))
    if table.get("status") == "running":
        table |= {"status": "cut_off", "reason": "the machine ended before the run"}
    text = json.dumps(table, indent=2) + "\n"
    files.save_inside(run, manifest.name, text.encode())


def keep_series(log: StageLog, python: Path, request: Request, run: Path) -> None:
    """Write the series of the recorded disk to aside(run); refuse one of no use."""
    if request.recorded is None:
        return
    place = aside(run)
    forms = list(recorded.FORMS) if request.makes_calls else ["disk"]
    analyse = partial(analysed, log, python)
    instead = "a scenario, or a --command"
    recorded.export(request.recorded, place, forms, analyse, instead)
    answer("repro/run", "--check", *request.chosen, *request.replaying(place))


def analysed(log: StageLog, python: Path, *words: str) -> CompletedProcess[str]:
    """Run a writestall command, log what it prints; any status."""
    done = said(setup.writestall(python, *words))
    with log.path.open("a") as file:
        file.write(done.stdout + done.stderr)
    return done


def analyse(log: StageLog, python: Path, run: Path, *words: str, good: int = 0) -> str:
    """Run a writestall command on the run; return what it printed.

    `good` is a status besides 0 with which it may end.
    """
    done = analysed(log, python, *words, str(run))
    if done.returncode not in (0, good):
        raise UserError(f"{' '.join(words)} ended with status {done.returncode}")
    return done.stdout
