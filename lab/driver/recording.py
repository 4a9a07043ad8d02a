# SPDX-License-Identifier: GPL-2.0-only
"""recording: the disk of a recording, and perhaps its calls, in a comparison."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path

from driver import recorded
from driver.machines import OUT
from writestall_base.errors import UserError


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
        recorded.check(args)
        if args.recorded is None:
            return None
        run, device = args.recorded.absolute(), args.recorded_device
        if args.workload:
            return cls(run, device, False)
        length_s = recorded.calls_last_s(run)
        if length_s is None:
            raise recorded.no_calls(run, cls.INSTEAD)
        if args.load:
            raise UserError("--load: the calls of --from are made at their own times")
        args.duration = args.duration or str(length_s)
        return cls(run, device, True)

    def words(self, folder: Path) -> tuple[str, ...]:
        """repro/plan's options, of the files that keep() writes."""
        place = folder / self.FOLDER
        words = ["--from", str(place / recorded.SERIES), str(self.run)]
        if self.device:
            words += ["--from-device", self.device]
        if self.makes_calls:
            in_guest = f"{OUT}/{self.FOLDER}"
            words += ["--calls", *recorded.making_calls(in_guest, self.REQUESTS)]
        return tuple(words)

    def keep(self, folder: Path, analyse: recorded.Analyse) -> None:
        """Write what the machines need to the folder; no machine runs."""
        place = folder / self.FOLDER
        if place.exists():
            shutil.rmtree(place)
        place.mkdir()
        forms = ("disk", "calls") if self.makes_calls else ("disk",)
        recorded.export(self.run, place, forms, analyse, self.INSTEAD)
