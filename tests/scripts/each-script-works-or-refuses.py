#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will start each script with each engine, and check that it reports an event
that was caused, or refuses in one line that names an alternative.

It prints one line for each result, from which docs/kernel-support.md is made.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import cases

import lab

# The options a script needs.
NEEDS = {"drilldown": ("--functions", "vfs_write")}


def scripts() -> list[str]:
    """The scripts, by name."""
    return sorted(path.stem for path in lab.PROJECT.glob("stap/*.stp"))


def refusal(tracer: lab.Tracer) -> str:
    """The one line of a launcher that traced nothing."""
    said = tracer.messages.read_text()
    who = f"{tracer.engine} {tracer.script}"
    lab.expect(tracer.process.returncode in (1, 2), f"{who} died: {said}")
    lab.expect(said.count("\n") == 1, f"{who} refuses in more than a line: {said}")
    lab.expect("; use " in said, f"{who} does not say what to use: {said}")
    return said.strip()


def verdict(disk: lab.Disk, engine: str, script: str, modules: Path) -> str:
    """How a script refuses; empty if it works."""
    kind = cases.REPORTS[script]
    tracer = lab.Tracer(engine, script, modules, *NEEDS.get(script, ()))
    try:
        lab.until(lambda: tracer.lines() > 0 or tracer.process.poll() is not None)
        if tracer.process.poll() is not None:
            return refusal(tracer)
        cases.happen(disk)
        kinds = {event["ev"] for event in tracer.stop()}
    finally:
        tracer.end()
    lab.expect(kind in kinds, f"{engine} {script} printed {kinds}, no {kind}")
    return ""


def test(options: argparse.Namespace) -> None:
    wrong = []
    with lab.disk() as disk:
        for script in scripts():
            for engine in lab.ENGINES:
                row = {"script": script, "engine": engine}
                try:
                    row["refuses"] = verdict(disk, engine, script, options.modules)
                except lab.FoundError as error:
                    wrong.append(str(error))
                    row["fails"] = str(error)
                row["release"] = os.uname().release
                print(f"support: {json.dumps(row)}", flush=True)
    lab.expect(not wrong, "; ".join(wrong))


if __name__ == "__main__":
    sys.exit(lab.main(test))
