#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""made_folder: write a comparison's folder of simulated runs, to read its page.

    PYTHONPATH=base:analysis python tests/analysis/compare/made_folder.py DIR

Eight options in nine rounds: one misses the objective in a twentieth of the requests as
the baseline does, others less or more by a factor. Options of a round share its stalls,
up to a tenth. One loses data when its machine is cut.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from comparisons import DURATION_S, Made, comparison, cut

ROUNDS, REQUESTS_PER_S = 9, 200
FACTORS = {
    "ext4-default": 1.0,
    "ext4-default-again": 1.0,
    "ext4-writeback": 0.9,
    "ext4-fast-commit": 0.3,
    "ext4-commit1": 2.0,
    "ext4-nojournal": 0.05,
    "xfs-default": 0.06,
    "btrfs": 1.4,
    "f2fs": 1.05,
}
RULES = {"objective": "over 65ms < 2%", "margin": "1.2x"}


def _run(draw: np.random.Generator, share: float) -> Made:
    """A run in which this share of requests takes longer than 65 ms."""
    over = round(share * REQUESTS_PER_S)
    quick = draw.lognormal(0, 0.4, REQUESTS_PER_S - over).round(2)
    slow = draw.uniform(80, 900, over).round(1)
    return Made([[*quick, *slow]] * DURATION_S, stalled=over > 0)


def main(folder: Path) -> None:
    """Write the folder."""
    draw = np.random.default_rng(1)
    shares = draw.lognormal(np.log(0.05), 0.5, ROUNDS)
    runs = {
        name: [_run(draw, s * factor * draw.lognormal(0, 0.1)) for s in shares]
        for name, factor in FACTORS.items()
    }
    path = comparison(folder, runs)
    plan = json.loads((path / "plan.json").read_text()) | {"rules": RULES}
    (path / "plan.json").write_text(json.dumps(plan))
    for name in FACTORS:
        if not name.endswith("-again"):
            cut(path, name, 7 if name == "ext4-fast-commit" else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
