# SPDX-License-Identifier: GPL-2.0-only
"""This test will count what explain does from start to answer for 1,000 events.

Most of that time is the start of Python and of the modules. Counts are the same on
every machine; `make bench-analysis` measures seconds.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

import build
from executed_lines import lines_run
from writestall.cli.main import main

# 250 modules and 238,000 lines on 2026-11-30, for 0.14 s of CPU on a quiet host.
MOST_MODULES, MOST_LINES = 275, 270_000
COUNT = """
import sys
from writestall.cli.main import main
status = main(sys.argv[1:])
print(len(sys.modules), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with 1,000 sleeps, 5 slow writes, and a client's latencies."""
    events = build.Events()
    for at in range(0, 5000, 10):
        irq = (0, "swapper/0")
        comm = "jbd2/vdb-8"
        events.block(253, at, 5, "jbd2_submit", irq, ctx="softirq", comm=comm)
        events.block(300, at, 5.1, "journal_buffer", (253, comm), "jbd2_wakes")
        if at % 1000 == 0:
            events.write(300, at, 1000, 505)
    path = build.run_dir(tmp_path / "run", events.end())
    histogram = HdrHistogram(1, 10**14, 3)
    histogram.record_value(10**6, 1000)
    line = f"0.000,1.000,1.000,{histogram.encode().decode()}\n"
    (path / "writer.hlog").write_text(line * 20)
    return path


def test_explain_loads_few_modules(run: Path) -> None:
    words = [sys.executable, "-c", COUNT, "explain", str(run)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stderr) <= MOST_MODULES


def test_explain_runs_few_lines(run: Path) -> None:
    count = lines_run(lambda: main(["explain", str(run)]))
    assert count <= MOST_LINES, count
