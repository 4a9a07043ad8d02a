# SPDX-License-Identifier: GPL-2.0-only
"""drilldown: find the function and the lock in which a scenario's writes sleep."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace

from driver import runs
from driver.machines import OUT, PREPARING, prepare
from driver.progress import Progress, Stage
from writestall_base import files

STAGES = (
    *PREPARING,
    Stage("drill down", "see the reason above; a smaller --stall-us finds more"),
)
STALL_US = 100_000
# What each engine is given, in the guest.
BUILT = {
    "stap": ("--module", "/mnt/build/stap/drilldown.ko"),
    "core": ("--program", "/mnt/build/core/stalled-writes"),
}
# Each round runs the scenario again.
LIMIT_S = 3 * runs.RUN_LIMIT_S


def arguments(parser: argparse.ArgumentParser) -> None:
    runs.arguments(parser, "journal-buffer", tuple(BUILT))


def _command(request: runs.Request, answer: str) -> list[str]:
    """The command in the guest: the scenario in every round, the answer to a file."""
    untraced = replace(request, engine="none").run_arguments
    scenario = ["repro/run", request.scenario, "--wipe", *untraced]
    once = f"{shlex.join(scenario)} --out $(mktemp --directory)/run"
    drilldown = ["env", "PYTHONPATH=analysis", "trace/drilldown", "--auto"]
    drilldown += ["--engine", request.engine, "--stall-us", str(STALL_US)]
    drilldown += [*BUILT[request.engine], "--", "sh", "-c", once]
    return ["sh", "-c", f"{shlex.join(drilldown)} >{shlex.quote(answer)}"]


def main(args: argparse.Namespace) -> int:
    """Run all rounds in one machine; print the answer and where it is."""
    request = runs.read(args)
    progress = Progress(STAGES, request.settings.verbose)
    run = request.settings.out / f"{request.run_name}-drilldown"
    answer = run / "drilldown.txt"
    _, artefacts = prepare(progress, request.settings, (), *request.needs.build)
    in_guest = runs.begin(request, run)
    with progress.stage() as log:
        inside = _command(in_guest, f"{OUT}/{answer.name}")
        try:
            log.run(runs.run_command(request, run, artefacts, inside, LIMIT_S))
        finally:
            runs.end(run)
        log.note = str(run)
    text = files.content(answer).decode(errors="replace")
    print(f"\n{text.rstrip()}\n\nanswer: {answer}")
    return 0
