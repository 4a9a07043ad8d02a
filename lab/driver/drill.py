# SPDX-License-Identifier: GPL-2.0-only
"""drill: a scenario to the function and the lock in which its writes sleep."""

from __future__ import annotations

import shlex
from dataclasses import replace

from driver import lab
from driver.progress import Progress, Stage, StageError
from driver.project import OUT, cache

STAGES = (
    *lab.PREPARING,
    Stage("drill down", "the reason stands above; a smaller --stall-us finds more"),
)
STALL_US = 100_000
# A scenario is run anew in each round.
LIMIT_S = 3 * lab.RUN_LIMIT_S


def _command(request: lab.Request, answer: str) -> list[str]:
    """Inside the machine: the scenario, run anew in every round; the answer's file."""
    untraced = lab.run_arguments(replace(request, engine="none"))
    scenario = ["repro/run", request.scenario, "--wipe", *untraced]
    once = f"{shlex.join(scenario)} --out $(mktemp --directory)/run"
    drilldown = [
        "env",
        "PYTHONPATH=analysis",
        "trace/drilldown",
        "--auto",
        "--stall-us",
        str(STALL_US),
    ]
    drilldown += ["--module", "/mnt/build/stap/drilldown.ko", "--", "sh", "-c", once]
    return ["sh", "-c", f"{shlex.join(drilldown)} >{shlex.quote(answer)}"]


def main() -> int:
    """Run all rounds in one machine; print the answer and where it is."""
    request = lab.Request.from_environment()
    progress = Progress(STAGES, cache.root() / "logs")
    run = OUT / f"{request.run_name}-drilldown"
    try:
        _, artefacts = lab.prepare(progress, request.kernel)
        brought = lab.begin(request, run)
        run.mkdir()
        with progress.stage() as log:
            inside = _command(brought, f"/mnt/out/{run.name}/drilldown.txt")
            try:
                log.run(lab.run_command(request, run, artefacts, inside, LIMIT_S))
            finally:
                lab.add_machine(run)
            log.note = str(run)
    except StageError as failed:
        return failed.status
    answer = run / "drilldown.txt"
    print(f"\n{answer.read_text().rstrip()}\n\nanswer: {answer}")
    return 0
