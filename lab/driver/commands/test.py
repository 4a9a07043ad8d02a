# SPDX-License-Identifier: GPL-2.0-only
"""test: run the tests with pytest in the project's venv."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from signal import SIGINT

from driver import results
from driver.commands import setup
from driver.machines import PREPARING, machine_parts, run_tools
from driver.progress import Progress
from driver.project import PROJECT, importing
from machine import recipe
from machine.commands import started

# Folders under tests/ that boot machines or need their image: not in `make check`.
NEEDS_MACHINE = ("compiled", "guest", "harness", "lab")
# Folders that take too long for `make test`, with a target of their own.
ON_DEMAND = ("packages",)
LATER = (*NEEDS_MACHINE, *ON_DEMAND)
# What `make check` leaves to `make test`: two thirds of the time of the tests without a
# VM.
SLOW = {
    "analysis/cli/test_odd_paths.py": "each command on paths of any bytes",
    "analysis/cli/test_unwritten.py": "each command on a disk that is full",
    "analysis/compare/test_comparison_in_browser.py": "looks at pages in Chromium",
    "analysis/compare/test_error_rates.py": "simulates thousands of comparisons",
    "analysis/compare/test_kernels_compared.py": "makes comparisons",
    "analysis/compare/test_page_of_comparison.py": "makes comparisons",
    "analysis/compare/test_ranking.py": "ranks made comparisons",
    "analysis/compare/test_rules.py": "makes comparisons",
    "analysis/events/test_bounds.py": "reads files as large as their bounds",
    "analysis/log/test_link_properties.py": "draws logs",
    "analysis/report/test_drawn_pages.py": "draws runs",
    "analysis/report/test_hostile_names.py": "draws names",
    "analysis/report/test_page_in_browser.py": "looks at pages in Chromium",
    "analysis/report/test_page_numbers.py": "makes pages of ten thousand stalls",
    "analysis/speed": "counts what long runs cost",
    "course/test_draws.py": "draws a hundred mysteries of each lab",
    "course/test_hostile_classes.py": "reads files as large as their bounds",
    "docs/test_documented_commands.py": "runs the commands of the documents",
    "docs/test_site.py": "builds the site, and looks at it in Chromium",
    "fuzz": "draws input for many seconds",
    "house/test_every_program.py": "starts each program three times",
    "repro/test_broker.py": "runs a client by the clock",
    "repro/test_latwriter.py": "runs a client by the clock",
    "repro/test_safepoint.py": "runs a client by the clock",
    "setup/test_release.py": "lists the packages of a release",
    "watcher": "runs watch, for seconds each time",
}
# How tests/support.py learns of the kernels.
EVERY_KERNEL, ONE_KERNEL = "WRITESTALL_EVERY_KERNEL", "WRITESTALL_KERNEL"
ON_DEMAND_TOO = "WRITESTALL_ON_DEMAND"
MEMORY_BYTES = 4 << 30  # of the host, for a machine and its test


def _at_once() -> int:
    """How many machines this host can run at a time.

    An emulated machine of two CPUs uses two thirds of a host CPU: much of what is
    tested is waiting.
    """
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    room = memory_bytes // MEMORY_BYTES
    return max(1, min(len(os.sched_getaffinity(0)) * 3 // 2, room))


def _side_by_side() -> list[str]:
    """Several machines at a time; what precedes the last `::` of an id, and so all
    tests of a module without one in their parameters, stays in one worker.
    """
    return ["-n", str(_at_once()), "--dist", "loadscope", "--no-loadscope-reorder"]


def _ignored(names: Iterable[str]) -> list[str]:
    return [f"--ignore=tests/{name}" for name in names]


def _phases(asked: argparse.Namespace) -> Iterator[list[str]]:
    """The arguments of each pytest to run.

    The quick tests run in parallel before any machine, because some check a client's
    schedule. Tests that share a machine stay in one worker.
    """
    quick = ["-n", "auto", *_ignored(LATER)]
    if asked.tail:
        chosen = _side_by_side() if asked.side_by_side else ["-n", "0"]
        yield [*(quick if asked.quick else chosen), *asked.tail]
        return
    yield [*quick, *_ignored(SLOW)] if asked.quick else quick
    if not asked.quick:
        later = ON_DEMAND if asked.every_kernel else ()
        folders = [f"tests/{name}" for name in (*NEEDS_MACHINE, *later)]
        yield [*_side_by_side(), *folders]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; pytest's own follow `--`."""
    add = parser.add_argument
    add("--quick", action="store_true", help="linters and the fast tests without a VM")
    add("--junit", type=Path, metavar="DIR", help="keep the results there")
    every = "also the kernels that are built on demand"
    add("--every-kernel", action="store_true", help=every)
    later = "also the tests that `make test` leaves to `make test-all`"
    add("--on-demand", action="store_true", help=later)
    one = f"only this one: {recipe.WHAT_KERNEL}"
    add("--kernel", metavar="KERNEL", help=one)
    side = "as many machines as this host has room for"
    add("--side-by-side", action="store_true", help=side)
    setup.add_no_install(parser)


def main(args: argparse.Namespace) -> int:
    """Set up, build, test; return the status of the first pytest that failed."""
    setup.packages(("lab", "test"))
    python = setup.python(setup.TESTS)
    # for `python -m writestall`
    environment = importing() | {"PYTHONDONTWRITEBYTECODE": "1"}
    kernels = recipe.tested(every=args.every_kernel)
    if args.every_kernel:
        environment[EVERY_KERNEL] = "1"
    if args.on_demand:
        environment[ON_DEMAND_TOO] = "1"
    if args.kernel is not None:
        kernels = (recipe.load(args.kernel).kernel,)
        environment[ONE_KERNEL] = kernels[0]
    if not args.quick:
        # Built before the tests are timed. Static programs: their own tests run them
        # on this host.
        built = run_tools(Progress(PREPARING[1:]), machine_parts(kernels))
        environment["WORKLOADS"] = built
    with tempfile.TemporaryDirectory(prefix="writestall-") as name:
        folder = (args.junit or Path(name)).absolute()
        return _all_phases(python, environment, _phases(args), folder)


def _all_phases(
    python: Path,
    environment: dict[str, str],
    phases: Iterable[list[str]],
    folder: Path,
) -> int:
    """Run each pytest, then print what became of their tests."""
    statuses, files = [], []
    for number, arguments in enumerate(phases):
        files.append(folder / f"{number}.xml")
        files[-1].unlink(missing_ok=True)
        command = [str(python), "-m", "pytest", *arguments, f"--junitxml={files[-1]}"]
        # SIGINT, so that pytest prints its summary.
        with started(command, SIGINT, cwd=PROJECT, env=environment) as pytest:
            statuses.append(pytest.wait())
    print(*results.lines(results.read(files)), sep="\n")
    return next(filter(None, statuses), 0)
