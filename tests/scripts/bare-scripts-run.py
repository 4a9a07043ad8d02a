#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will run each bpftrace script without its launcher, as their headers say
that one may: it begins, whatever bpftrace warns of, and ends in order."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import lab


def begin_and_end(script: Path, output: Path) -> None:
    messages = output.with_suffix(".log")
    with output.open("w") as rows, messages.open("w") as said:
        process = subprocess.Popen(
            ["bpftrace", "-f", "json", "-B", "line", script], stdout=rows, stderr=said
        )

    def when_it_says(row: str, number: signal.Signals) -> None:
        lab.until(lambda: row in output.read_text() or process.poll() is not None)
        why = messages.read_text().splitlines()[-1:]
        lab.expect(row in output.read_text(), f"{script.name}: no {row}: {why}")
        process.send_signal(number)

    try:
        when_it_says('"limits"', signal.SIGUSR1)
        when_it_says('"end"', signal.SIGINT)
        status = process.wait(lab.ARMED_WITHIN_S)
        lab.expect(status == 0, f"{script.name} ended with {status}")
    finally:
        process.kill()
        process.wait()


def test(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for script in sorted(lab.PROJECT.glob("bpf/*.bt")):
            begin_and_end(script, Path(folder) / script.stem)


if __name__ == "__main__":
    sys.exit(lab.main(test))
