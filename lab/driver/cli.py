# SPDX-License-Identifier: GPL-2.0-only
"""cli: the lab's programs to calls; mistakes to one line and a status."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

from driver import (
    artefacts,
    bench,
    cluster,
    compare,
    crash,
    doctor,
    drill,
    lab,
    overhead,
    setup,
    support,
    testing,
    variants,
)
from driver.project import cache, image
from machine import signals
from machine.errors import UserError


def _build() -> int:
    parser = argparse.ArgumentParser(
        prog="lab/build", description="Compile for one kernel."
    )
    parser.add_argument("-k", "--kernel", metavar="NAME")
    parser.add_argument("--tests", action="store_true", help="what the tests need, too")
    asked = parser.parse_args()
    print(artefacts.build(asked.kernel, artefacts.FOR_TESTS if asked.tests else ()))
    return 0


def _setup() -> int:
    parser = argparse.ArgumentParser(
        prog="lab/setup", description="Install what is needed."
    )
    parser.add_argument("--tests", action="store_true", help="what the tests need, too")
    tests = parser.parse_args().tests
    groups = ("lab", "test") if tests else ("lab",)
    print(f"set-up: {setup.packages(groups)}", file=sys.stderr)
    print(setup.python(("export", "compare", "test") if tests else ()))
    return 0


# Commands of writestall that need heavy libraries, in a venv of their own.
EXPORTS = ("export", "heatmap", "hist", "shell")
EXTRAS = {name: ("export",) for name in EXPORTS}
EXTRAS["compare-options"] = ("compare",)


def _writestall() -> int:
    extras = EXTRAS.get(sys.argv[1] if sys.argv[1:] else "", ())
    command = setup.writestall(setup.python(extras), *sys.argv[1:])
    return subprocess.run(command, check=False).returncode


def _clean() -> int:
    """Forget everything but SystemTap's own cache, which keeps itself."""
    for path in cache.root().glob("*-*"):
        if not path.name.startswith("stap-cache"):
            cache.remove(path, image.as_owner())
    return 0


PROGRAMS: dict[str, Callable[[], int]] = {
    "bench-injector": bench.main,
    "bench-tracers": overhead.bench,
    "build": _build,
    "cell": cluster.cell,
    "compare": compare.main,
    "crash": crash.main,
    "doctor": doctor.main,
    "drilldown": drill.main,
    "run": lab.main,
    "setup": _setup,
    "soak-tracers": overhead.soak,
    "support": support.main,
    "test": testing.main,
    "variants": variants.main,
    "writestall": _writestall,
    "clean": _clean,
}


def main(program: str) -> int:
    """Run a program; SIGTERM and SIGHUP end it as Ctrl-C does, in order."""
    signals.end_in_order()
    try:
        return PROGRAMS[program]()
    except UserError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{program}: interrupted; nothing is left running", file=sys.stderr)
        return signals.INTERRUPTED
