# SPDX-License-Identifier: GPL-2.0-only
"""recorded: what machines need of a recording to be its disk, and to make its calls.

`record --profile` kept both; docs/replay.md.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from driver.machines import OUT
from writestall_base import files
from writestall_base.errors import UserError

# The disk's series, the calls, and how those stalled: forms of `export --to`.
SERIES = "disk-series.json"
CALLS, STALLS = "recorded-calls.bin", "recorded-stalls.json"
FORMS = {"disk": SERIES, "calls": CALLS, "stalls": STALLS}
MOST_BYTES = 16 << 20
# Runs a command of analysis/ (runs.analysed()).
Analyse = Callable[..., subprocess.CompletedProcess[str]]


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    run = "delay as the disk of this run did (docs/replay.md), not as the scenario does"
    add("--from", dest="recorded", metavar="RUN", type=Path, help=run)
    device = "which of its disks, by number or name (the one that bios took longest on)"
    add("--from-device", dest="recorded_device", metavar="DEV", help=device)


def check(args: argparse.Namespace) -> None:
    """Refuse what does not go with a recorded disk, or without one."""
    if args.recorded is None:
        if args.recorded_device is not None:
            raise UserError("--from-device needs --from")
        return
    if args.profile is not None:
        raise UserError("--from is a disk of its own: leave out --profile")
    if not args.recorded.exists():
        raise UserError(f"--from {args.recorded}: no such run")


def calls_last_s(run: Path | None) -> int | None:
    """For how many seconds a run kept calls; None where it kept none."""
    if run is None:
        return None
    try:
        manifest = json.loads(files.content(run / "manifest.json", MOST_BYTES))
        window = manifest["window"]
        if not manifest["recorded"]["profile"]:
            return None
        return max(1, math.ceil(int(window["end_ns"] - window["start_ns"]) / 10**9))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def making_calls(place: str, *more: str) -> tuple[str, str]:
    """The command that makes the calls again (repro/replay), from CALLS in that folder
    of the guest, and what prepares it; `more` are options."""
    command = (
        'exec "$PROGRAMS/replay" ${ARMED_NS:+--start-ns $ARMED_NS}'
        f' --report "$OUT/replay.json" {" ".join(more)}'
        f' {place}/{CALLS} "$LAB"'
    )
    return command, f"{command} --prepare"


def no_calls(run: Path, instead: str) -> UserError:
    """The refusal of a run without calls; `instead` is what to name."""
    return UserError(f"--from {run}: it has no calls: name {instead}")


def export(
    run: Path, place: Path, forms: Sequence[str], analyse: Analyse, instead: str
) -> None:
    """Write those of FORMS to a folder. Raises UserError, also no_calls() where they
    are asked for."""
    for form in forms:
        words = ("export", "--to", form, "-o", str(place / FORMS[form]))
        done = analyse(*words, str(run))
        if done.returncode:
            raise UserError(f"--from {run}: {done.stderr.strip()}")
    if "calls" in forms and not has_calls(place / CALLS):
        raise no_calls(run, instead)


def has_calls(path: Path) -> bool:
    """Whether the head of a file of calls, docs/replay.md, counts any."""
    with path.open("rb") as file:
        return any(file.read(16)[12:])


@dataclass(frozen=True)
class Recording:
    """A run whose disk is replayed and, with a command that does so, its calls."""

    run: Path
    device: str | None
    makes_calls: bool  # else a scenario is the workload

    INSTEAD = "a --workload"  # of calls that a run does not have
    FOLDER = "recorded"  # in that of the comparison
    # Each call is a request, of which options are told apart.
    REQUESTS = '--requests "$OUT/requests.jsonl"'

    @classmethod
    def asked(cls, args: argparse.Namespace) -> Recording | None:
        """The recording to compare on; where it has calls, runs are as long as it.

        Raises UserError for one that does not do.
        """
        check(args)
        if args.recorded is None:
            return None
        run, device = args.recorded.absolute(), args.recorded_device
        if args.workload:
            return cls(run, device, False)
        length_s = calls_last_s(run)
        if length_s is None:
            raise no_calls(run, cls.INSTEAD)
        if args.load:
            raise UserError("--load: the calls of --from are made at their own times")
        args.duration = args.duration or str(length_s)
        return cls(run, device, True)

    def words(self, folder: Path) -> tuple[str, ...]:
        """repro/plan's options, of the files that keep() writes."""
        place = folder / self.FOLDER
        words = ["--from", str(place / SERIES), str(self.run)]
        if self.device:
            words += ["--from-device", self.device]
        if self.makes_calls:
            in_guest = f"{OUT}/{self.FOLDER}"
            words += ["--calls", *making_calls(in_guest, self.REQUESTS)]
        return tuple(words)

    def keep(self, folder: Path, analyse: Analyse) -> None:
        """Write what the machines need to the folder; no machine runs."""
        place = folder / self.FOLDER
        if place.exists():
            shutil.rmtree(place)
        place.mkdir()
        forms = ("disk", "calls") if self.makes_calls else ("disk",)
        export(self.run, place, forms, analyse, self.INSTEAD)
