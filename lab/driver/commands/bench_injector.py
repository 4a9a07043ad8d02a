# SPDX-License-Identifier: GPL-2.0-only
"""bench_injector: compare biodelay with dm-delay and scsi_debug in one machine."""

from __future__ import annotations

import argparse
import json

from driver import artefacts, injector_page, settings
from driver.machines import OUT, PREPARING, Records, machine_command, prepare
from driver.progress import Progress, Stage
from writestall_base import files
from writestall_base.command_line import whole

BENCH = "tests/kmod/bench"
STAGES = (
    *PREPARING,
    Stage("bench", "its console is in the folder of the results"),
)
EMPTY_PROBE = artefacts.Part(
    "empty-probe",
    f"{BENCH}/empty_probe",
    "make -s KDIR=/lib/modules/{release}/build && cp empty_probe.ko ../result",
)
LIMIT_S = 1800


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--rounds", type=whole(), default=5, metavar="N", help="of each arm (5)")
    settings.arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Measure and print the page; 1 when a bound is not met."""
    shared = settings.read(args)
    progress = Progress(STAGES, shared.verbose)
    folder = shared.out / "bench-injector" / shared.kernel
    folder.mkdir(parents=True, exist_ok=True)
    found, machine = folder / "result.json", folder / "machine.json"
    prepare(progress, shared)
    # It waits for no disk of the host: idle time may be skipped.
    shared = shared.measuring("icount-warp")
    with progress.stage() as log:
        built = str(artefacts.build(shared.kernel, (EMPTY_PROBE,)))
        records = Records(folder / "console.log", machine, LIMIT_S)
        inside = ["python3", f"{BENCH}/run.py", "--build", "/mnt/build"]
        inside += ["--out", f"{OUT}/{found.name}", "--rounds", str(args.rounds)]
        log.run(machine_command(shared, folder, built, records, inside))
        log.note = str(folder)
    result = json.loads(files.content(found))
    page = injector_page.page(result, json.loads(files.content(machine)))
    files.save_inside(folder, "page.md", page.encode())
    print(page)
    return int(not all(claim.met for claim in injector_page.claims(result)))
