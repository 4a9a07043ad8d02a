# SPDX-License-Identifier: GPL-2.0-only
"""testing: make test and make check to pytest runs in the project's venv."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from signal import SIGINT
from xml.etree import ElementTree

from driver import setup
from driver.lab import PREPARING, machine_parts, run_tools
from driver.progress import Progress, StageError
from driver.project import PROJECT, cache, recipe
from machine.commands import started

# Folders under tests/ that boot machines or need their image: `make check` leaves
# them out.
NEEDS_MACHINE = ("compiled", "guest", "harness", "lab")
COUNTED = ("tests", "failures", "errors", "skipped")
MEMORY_BYTES = 4 << 30  # of the host, for a machine and what tests it


def _prepare_machine() -> Path:
    """Build what every machine test needs, so that no test's time holds it.

    Returns the folder of one kernel's compiled parts.
    """
    progress = Progress(PREPARING[1:], cache.root() / "logs")
    return Path(run_tools(progress, machine_parts(recipe.tested())))


def _at_once() -> int:
    """How many machines this host carries at a time.

    An emulated machine of two CPUs keeps two thirds of one of the host's busy: much of
    what is tested is waiting.
    """
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    room = memory_bytes // MEMORY_BYTES
    return max(1, min(len(os.sched_getaffinity(0)) * 3 // 2, room))


def _phases(asked: argparse.Namespace) -> Iterator[list[str]]:
    """Arguments of each pytest to run.

    The quick tests go side by side, and before any machine: some hold a client to
    its schedule. Tests that share a machine stay in one worker.
    """
    quick = ["-n", "auto", *(f"--ignore=tests/{name}" for name in NEEDS_MACHINE)]
    if asked.pytest:
        workers = str(_at_once()) if asked.side_by_side else "0"
        yield [*(quick if asked.quick else ("-n", workers)), *asked.pytest]
        return
    yield quick
    if not asked.quick:
        folders = [f"tests/{name}" for name in NEEDS_MACHINE]
        many = ["-n", str(_at_once()), "--dist", "loadscope", "--no-loadscope-reorder"]
        yield [*many, *folders]


def main() -> int:
    """Set up, build, test; the status is that of the first pytest that failed."""
    parser = argparse.ArgumentParser(prog="lab/test", description="Run the tests.")
    parser.add_argument(
        "--quick", action="store_true", help="linters and tests without a VM"
    )
    parser.add_argument(
        "--junit", type=Path, metavar="DIR", help="keep the results there"
    )
    parser.add_argument(
        "--side-by-side", action="store_true", help="as many machines as this host has"
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
    with tempfile.TemporaryDirectory(prefix="writestall-") as name:
        folder = (options.junit or Path(name)).absolute()
        return _all_phases(python, environment, _phases(options), folder)


def _all_phases(
    python: Path,
    environment: dict[str, str],
    phases: Iterable[list[str]],
    results: Path,
) -> int:
    """Run each pytest to its end, then say what all of them counted."""
    statuses, counts = [], Counter[str]()
    for number, arguments in enumerate(phases):
        told = results / f"{number}.xml"
        told.unlink(missing_ok=True)
        command = [str(python), "-m", "pytest", *arguments, f"--junitxml={told}"]
        # As Ctrl-C, so that pytest says what it knows.
        with started(command, SIGINT, cwd=PROJECT, env=environment) as pytest:
            statuses.append(pytest.wait())
        counts += _counts(told)
    print("test:", ", ".join(f"{counts[word]} {word}" for word in COUNTED))
    return next(filter(None, statuses), 0)


def _counts(junit: Path) -> Counter[str]:
    """How many tests ended how, from pytest's file; nothing where it wrote none."""
    if not junit.exists():
        return Counter()
    suites = ElementTree.parse(junit).iter("testsuite")
    counts = Counter[str]()
    for suite in suites:
        counts += Counter({word: int(suite.get(word, 0)) for word in COUNTED})
    return counts
