# SPDX-License-Identifier: GPL-2.0-only
"""testing: make test and make check to one pytest run in the project's venv."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from driver import setup
from driver.lab import AGAIN, STAGES, run_tools
from driver.progress import Progress, Stage, StageError
from driver.project import PROJECT, cache, recipe

# Folders under tests/ that boot machines: `make check` leaves them out.
NEEDS_MACHINE = ("guest", "harness", "lab")
REMEDY = {stage.name: stage.remedy for stage in STAGES}


def _prepare_machine() -> Path:
    """Build what every machine test needs, so that no test's time holds it.

    Returns the folder of one kernel's compiled parts.
    """
    kernels = tuple(recipe.load().kernels)
    plan = {
        "qemu": ("vm/build", "qemu"),
        "image": ("vm/build", "tree", "disk", "kernels"),
        "accelerator": ("vm/build", "accel"),
    }
    plan |= {f"compile {name}": ("lab/build", "-k", name) for name in kernels}
    stages = tuple(Stage(name, REMEDY.get(name, AGAIN)) for name in plan)
    progress = Progress(stages, cache.root() / "logs")
    return Path(run_tools(progress, plan.values()))


def main() -> int:
    """Set up, build, test; the status is pytest's."""
    parser = argparse.ArgumentParser(prog="lab/test", description="Run the tests.")
    parser.add_argument(
        "--quick", action="store_true", help="linters and tests without a VM"
    )
    parser.add_argument("pytest", nargs="*", help="what to hand to pytest, behind --")
    options = parser.parse_args()
    setup.packages(("lab", "test"))
    python = setup.python(("export", "compare", "test"))
    environment = os.environ | {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(PROJECT / "analysis"),  # for `python -m writestall`
    }
    if not options.quick:
        try:
            # Static programs: their own tests run them on this host.
            environment["WORKLOADS"] = str(_prepare_machine())
        except StageError as failed:
            return failed.status
    left_out = [f"--ignore=tests/{name}" for name in NEEDS_MACHINE] * options.quick
    # An emulated machine keeps every CPU busy, and its stalls must be its own: one
    # at a time. The quick tests go side by side.
    many = ["-n", "auto" if options.quick else "0"]
    command = [str(python), "-m", "pytest", *many, *left_out, *options.pytest]
    return subprocess.run(command, cwd=PROJECT, env=environment, check=False).returncode
