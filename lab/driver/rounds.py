# SPDX-License-Identifier: GPL-2.0-only
"""rounds: boot the machines of a planned comparison until no run is left.

All runs share a machine until one fails: booting takes an emulated machine half as
long as a run. A failure ends its machine, and the next machine goes on after it. With
several kernels, each round has its own machines (repro/labrun/comparison/axes.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from driver.kernels import Kernel
from driver.planned import Planned
from driver.progress import StageLog
from writestall_base.errors import UserError

# A run that failed is tried once more, on a fresh machine; an option whose first run
# failed twice does not work here, and its other rounds are skipped.
MOST_TRIES = 2


def run(
    log: StageLog, planned: Planned, kernels: Sequence[Kernel], only: int | None = None
) -> int:
    """Run all that is left, or of one round; return how many runs failed.

    Runs that the host disturbed are repeated, but not those of one round: other rounds
    are run at the same time.
    """
    named = prefix(only)
    tries: Counter[str] = Counter()
    skip: set[str] = set()
    by_name = {kernel.name: kernel for kernel in kernels}
    while left := _left(planned, only, skip):
        number = 1 + len(planned.consoles(named))
        cells, name = planned.together(left)
        kernel = by_name[name] if name else kernels[0]
        of_kernel = replace(planned, settings=kernel.settings)
        # The manifests, and the machine's own verdict, say what failed.
        with suppress(UserError):
            log.run(of_kernel.machine(f"{named}{number}", cells, kernel.built))
        if (still := _left(planned, only, skip)) and still[0] in cells:
            _give_up(still, tries, skip)
    return len(skip)


def prefix(only: int | None) -> str:
    """What the names of the machines of a round begin with, or of all rounds."""
    return "" if only is None else f"round-{only}-"


def _left(planned: Planned, only: int | None, skip: set[str]) -> list[str]:
    """The cells that are neither complete nor skipped, in the order of running."""
    left = [name for name in planned.left(repeat=only is None) if name not in skip]
    if only is None:
        return left
    rounds = planned.rounds
    return [name for name in left if rounds[name] == only]


def _give_up(still: list[str], tries: Counter[str], skip: set[str]) -> None:
    """Count a failure of the first cell that is left; after two, skip its option."""
    first = still[0]
    tries[first] += 1
    if tries[first] >= MOST_TRIES:
        option = first.rpartition("/")[0]
        skip |= {name for name in still if name.rpartition("/")[0] == option}
