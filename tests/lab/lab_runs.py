# SPDX-License-Identifier: GPL-2.0-only
"""lab_runs: run `make lab` with variables, and return its status and its files."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import accel, image, recipe
from support import PROJECT

LIMIT_S = 1200


@dataclass(frozen=True)
class Lab:
    """The result of `make lab`: status, output, and the run directory."""

    done: subprocess.CompletedProcess[str]
    run: Path

    def json(self, name: str) -> dict[str, Any]:
        return dict(json.loads((self.run / name).read_text()))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return list(json.loads((self.run / name).read_text()))

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / name).read_text().splitlines()]


def make_lab(out: Path, **variables: str) -> Lab:
    """`make lab VARIABLE=...`, with a clock that other tests do not disturb."""
    known = recipe.load(variables.get("KERNEL"))
    counting = accel.counting(known, image.kernel(known), "icount")
    return make(out, "lab", ACCEL=counting, **variables)


def make(out: Path, target: str, **variables: str) -> Lab:
    """Run `make TARGET VARIABLE=...` like a user, into our own folder.

    It must not see that make runs the tests: without MAKELEVEL and MAKEFLAGS, no
    "Entering directory" precedes the answer.
    """
    words = [f"{name}={value}" for name, value in variables.items()]
    ours = {name: text for name, text in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(
        ["make", target, f"OUT={out}", *words],
        cwd=PROJECT,
        env=ours,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return Lab(done, out / ("latest" if target == "lab" else f"latest-{target}"))


def analysed(
    command: str, run: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a command of writestall on a run."""
    words = [str(PROJECT / "writestall"), command, *options, str(run)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def hold_to_the_truth(lab: Lab) -> None:
    """The explained share of the stall time, and that of correct roots."""
    if not lab.json("summary.json")["stalls"]:
        return
    assert lab.json("summary.json")["share_explained"] >= 0.98
    verdict = json.loads(analysed("check", lab.run, "--json").stdout)
    assert verdict["root_right_share"] >= 0.99, verdict["wrong"]
    for name in ("holder_right_share", "lock_seen_share"):
        # none where the kernel does not tell what lock a task sleeps on
        assert verdict[name] is None or verdict[name] >= 0.99, verdict["holders_ns"]


def marked(mark: str) -> list[str]:
    """Command lines of the processes that have the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found
