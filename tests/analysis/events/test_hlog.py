# SPDX-License-Identifier: GPL-2.0-only
"""This test will read HdrHistogram logs, valid and damaged."""

from __future__ import annotations

from pathlib import Path

from hlog_text import HEADER, interval
from writestall.events.hlog import Latencies, read_log
from writestall.events.lines import Problem


def read(log: Path) -> tuple[Latencies | None, list[Problem]]:
    """What a log holds, and what is wrong with it."""
    found = read_log(log)
    return found.latencies, found.problems


def test_intervals_are_summed(tmp_path: Path) -> None:
    """Percentiles are those of all intervals together, in ns, with three significant
    digits."""
    log = tmp_path / "writer.hlog"
    log.write_text(HEADER + interval(*[10_000] * 990) + interval(*[10**9] * 10))
    found, problems = read(log)
    assert problems == [] and found is not None
    assert found.writes == 1000
    assert abs(found.p50_ns - 10_000) <= 10
    assert abs(found.p999_ns - 10**9) <= 10**6
    assert abs(found.max_ns - 10**9) <= 10**6


def test_broken_intervals_are_named(tmp_path: Path) -> None:
    """A truncated last line is one problem; the others count."""
    log = tmp_path / "writer.hlog"
    whole = interval(5_000)
    log.write_text(HEADER + whole + whole[: len(whole) // 2] + "\n" + "garbage\n")
    found, problems = read(log)
    assert found is not None and found.writes == 1
    assert [problem.line for problem in problems] == [4, 5]


def test_nothing_in_it(tmp_path: Path) -> None:
    """Missing and empty logs give no numbers and one message."""
    for content in (None, "", HEADER):
        log = tmp_path / "writer.hlog"
        if content is not None:
            log.write_text(content)
        found, problems = read(log)
        assert found is None and len(problems) == 1
