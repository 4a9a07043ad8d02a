# SPDX-License-Identifier: GPL-2.0-only
"""test_watch: watch a machine whose disk stalls, and hold what is told to the truth.

`make test` watches the default kernel for some seconds; `make soak-watch` for five
minutes with each engine, and --every-kernel each kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from machine import accel, image, recipe
from machine.run import GUEST_PROJECT
from support import EVERY, KERNELS, ON_DEMAND, tool

# They share a worker for minutes, and would be the last to end.
pytestmark = pytest.mark.first

SOAK = os.environ.get("WRITESTALL_SOAK") == "1"
ATTACKED_S = "600" if SOAK else "20" if ON_DEMAND else "8"
WATCHED = KERNELS if EVERY else [recipe.load().kernel]
PACKAGES = "python3-msgspec,python3-jinja2,python3-prometheus-client"
# The words of watch_cases.py. What the engines do not differ in, one shows.
QUICK: tuple[tuple[str, ...], ...] = (
    ("--case", "every-stall", "--seconds", "12", "--engine", "core"),
    ("--case", "open-stall", "--case", "ends", "--engine", "stap"),
)
WHOLE: tuple[tuple[str, ...], ...] = (
    ("--case", "every-stall", "--seconds", "300"),
    ("--case", "open-stall", "--case", "ends"),
)
LIMIT_S = 1800


def in_a_machine(
    kernel: str, build: Path, script: str, *words: str, packages: str = PACKAGES
) -> str:
    """Run a script of tests/scripts in a machine; what it printed."""
    known = recipe.load(kernel)
    counting = accel.counting(known, image.kernel(known), "icount")
    scripts = f"{GUEST_PROJECT}/tests/scripts"
    path = f"PYTHONPATH={GUEST_PROJECT}/base:{GUEST_PROJECT}/repro:{scripts}"
    done = tool(
        "vm/vm",
        *("run", "-k", kernel, "--accel", counting, "--timeout", str(LIMIT_S)),
        *("--share", f"{build}:/mnt/build:ro"),
        *(["--packages", packages] if packages else []),
        *("--excuse", r"\[biodelay\]|\[dm_mod\]|dm_"),
        *("--", "env", path, "python3"),
        *(f"{scripts}/{script}", "--modules", "/mnt/build/stap", *words),
        limit_s=LIMIT_S + 120,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("kernel", WATCHED)
@pytest.mark.parametrize("words", WHOLE if SOAK or EVERY else QUICK, ids=lambda w: w[1])
def test_every_stall_is_reported_and_nothing_stays(
    kernel: str, words: tuple[str, ...], artefacts: Callable[[str], Path]
) -> None:
    print(in_a_machine(kernel, artefacts(kernel), "watch_cases.py", *words))


@pytest.mark.parametrize("engine", ["core", "stap"] if EVERY else ["core"])
def test_the_service_watches_within_its_limits(
    engine: str, artefacts: Callable[[str], Path]
) -> None:
    kernel = recipe.load().kernel
    words = ("--engine", engine)
    print(in_a_machine(kernel, artefacts(kernel), "watch_unit.py", *words))


AS_WATCH = "watch reads a user's files by the same modules, and dumps them as a run"


@pytest.mark.parametrize(
    "case", ["watch", pytest.param("record", marks=pytest.mark.on_demand(AS_WATCH))]
)
def test_a_user_who_attacks_reads_nothing_and_stops_nothing(
    case: str, artefacts: Callable[[str], Path]
) -> None:
    """Every trick of attacker.py at once, for ATTACKED_S."""
    kernel = recipe.load().kernel
    words = ("--case", case, "--seconds", ATTACKED_S)
    packages = PACKAGES if case == "watch" else ""  # record explains elsewhere
    build = artefacts(kernel)
    print(in_a_machine(kernel, build, "attacked.py", *words, packages=packages))
