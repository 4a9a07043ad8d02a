#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will send SIGINT, SIGTERM or SIGHUP at the start of each step of a run that
has everything that can be undone, and check that the run ends in order and leaves
nothing behind but a run directory that records this.

Arguments go to every repro/run: --build DIR, --engine ENGINE.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from every_step import SCENARIOS, start, write_scenario
from traces_of_a_run import Settings, leftovers, settings

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_S = 120


def progress(run: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """The JSON lines that a run prints; other lines are passed on."""
    for line in run.stderr or ():
        if line.startswith("{"):
            yield json.loads(line)
        else:
            print("   ", line.rstrip())


def run_until(
    step: str, number: int, out: Path, arguments: list[str], delay_s: float = 0.0
) -> int:
    """Signal a run when a step starts; return its exit status."""
    run = start(out, arguments)
    for line in progress(run):
        if line.get("step") == step and line["status"] == "begin":
            time.sleep(delay_s)
            run.send_signal(number)
    return run.wait(timeout=END_S)


def check(
    name: str,
    undoing: list[str],
    status: int,
    wanted: int,
    out: Path,
    before: Settings,
) -> int:
    """Errors in how a signalled run ended, as lines."""
    manifest = json.loads((out / "manifest.json").read_text())
    wanted_word = {0: "complete"}.get(wanted, "cut_off")
    found = []
    if status != wanted:
        found.append(f"exit status {status}, want {wanted}")
    if manifest["status"] != wanted_word:
        found.append(f"manifest says {manifest['status']}, want {wanted_word}")
    if wanted and "interrupted by SIG" not in str(manifest["reason"]):
        found.append(f"reason: {manifest['reason']}")
    failed = [one for one in manifest["steps"] if one["status"] == "failed"]
    # The step that noticed the signal may have failed; no undo step may.
    found += [f"failed step {one}" for one in failed if one["name"] in undoing]
    if len(failed) > bool(wanted):
        found.append(f"{len(failed)} failed steps")
    found += [f"left behind: {what}" for what in leftovers(before)]
    for line in found:
        print(f"FAILED: {name}: {line}")
    return len(found)


def complete_run(folder: Path, arguments: list[str]) -> list[str]:
    """The steps of an undisturbed run, in order."""
    run = start(folder / "undisturbed", arguments)
    lines = list(progress(run))
    assert run.wait(timeout=END_S) == 0, "the undisturbed run failed"
    return [line["step"] for line in lines if line["status"] == "ok"]


def disturbed(
    folder: Path, name: str, tried: set[str], before: Settings, arguments: list[str]
) -> tuple[int, set[str]]:
    """Run a scenario once for each step not tried yet, and signal each run there;
    return the number of errors, and the steps tried."""
    write_scenario(folder, name)
    steps = complete_run(folder, arguments)
    last = steps.index("write")
    failures = check(name, steps, 0, 0, folder / "undisturbed", before)
    cases = [(step, 0.0) for step in steps if step not in tried] + [("write", 1.5)]
    for index, (step, delay_s) in enumerate(cases):
        number = SIGNALS[index % len(SIGNALS)]
        case = f"{name}: {number.name} {delay_s} s into {step}"
        print(case, flush=True)
        out = folder / f"{index}-{step}"
        status = run_until(step, number, out, arguments, delay_s)
        # After the workload only undo steps are left, which always complete.
        wanted = 128 + number if steps.index(step) <= last else 0
        failures += check(case, steps[last + 1 :], status, wanted, out, before)
    print(f"{name}: {len(cases)} signals, {failures} failures")
    return failures, tried | set(steps)


def main() -> bool:
    before, failures, tried = settings(), 0, set[str]()
    for name in SCENARIOS:
        folder = Path(tempfile.mkdtemp(prefix="test-"))
        found, tried = disturbed(folder, name, tried, before, sys.argv[1:])
        failures += found
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
