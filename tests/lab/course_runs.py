# SPDX-License-Identifier: GPL-2.0-only
"""course_runs: run a lab of the course in a machine, and answer its question."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from lab_runs import LIMIT_S
from machine import accel, image, recipe
from support import PROJECT
from writestall.course import draw, tables, work
from writestall.course.tables import Lab


def course(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROJECT / "writestall"), "course", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def _lasts_longest(folder: Path, lab: Lab) -> None:
    """The wait that the lab is about has most of the stall time of its own run; that of
    lab 7 has several ways into the limit."""
    summary = json.loads((folder / work.LATEST / "summary.json").read_text())
    by_class = summary["stall_ns_by_class"]
    assert lab.number == 7 or max(by_class, key=by_class.get) == lab.wait, by_class


def judged(number: int, seed: str, tmp_path: Path) -> None:
    """Start a lab, or with a seed its mystery; a wrong answer is refused, and the right
    one taken."""
    known, lab = recipe.load(), tables.lab(number)
    counting = accel.counting(known, image.kernel(known), "icount")
    place = ["--out", str(tmp_path)]
    words = ["--seed", seed] if seed else []
    done = course("start", str(number), *words, "--accel", counting, *place)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert lab.page in done.stdout

    folder = work.folder(tmp_path, number)
    facts = work.facts(folder, work.ask(folder))
    if not seed:
        _lasts_longest(folder, lab)
    holder = facts.holder
    named = f"{holder.comm}/{holder.tid}" if holder else "none"
    good = [
        "--holder",
        named,
        "--ms",
        f"{facts.ms[draw.quantity(number, seed)]:.0f}",
        *place,
    ]
    wrong = course("answer", str(number), "--root", "vdb", *good)
    assert wrong.returncode == 1
    assert "the disk alone is no root" in wrong.stdout
    right = course("answer", str(number), "--root", str(facts.root), *good)
    assert right.returncode == 0, right.stdout
    graded = json.loads(course("grade", str(tmp_path), "--json").stdout)
    # The answer to a lab's own question is printed on its page.
    assert [row["points"] for row in graded] == [3 if seed else 0]
