# SPDX-License-Identifier: GPL-2.0-only
"""course_numbers: the numbers on the pages of docs/course, from the recorded runs.

A text has `{}` for each number; docs/render-course.py finds it on the page of its lab.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_runs import (
    COMMIT_S,
    MS,
    Run,
    S,
    each_ns,
    eight,
    ended_within_ms,
    ms,
    waits,
    word,
)
from writestall.course import tables, work


@dataclass(frozen=True)
class Number:
    """Numbers of a lab's page: its text, and what stands for each `{}` in it."""

    lab: int
    text: str
    values: Callable[[Run, Run], tuple[str, ...]]


def shown(run: Run, write: int, line: str) -> str:
    """A number as explain prints it for a call: the first group of the line."""
    found = re.search(line, run.explain("--write", str(write)))
    assert found, line
    return found[1]


def _said(lab: int, write: int, holder: str, root: str, line: str) -> Number:
    """The holder and the milliseconds of the lab's official answer: those of the lines
    that explain prints of a call, in sum.
    """

    def values(run: Run, _: Run) -> tuple[str, ...]:
        times = re.findall(rf"(\d+) ms +{line}", run.explain("--write", str(write)))
        assert times, lab
        held = shown(run, write, rf"held by {re.escape(holder)}/(\d+)")
        return held, str(sum(map(int, times)))

    text = f"answer {lab} --holder {holder}/{{}} --root {root} --ms {{}}"
    return Number(lab, text, values)


LESSONS = Path(__file__).parent / "course/lessons"
PAUSE = re.compile(
    r"^pause of (\d+) ms +(\d+) threads stopped.*\n\+- (\d+) ms write", re.M
)

NUMBERS: tuple[Number, ...] = (
    _said(1, 1, "jbd2/vdb-8", "jbd2", "device_io  vdb, "),
    _said(2, 1, "kworker/u8:0", '"vdb slow for jbd2"', "page_lock"),
    _said(3, 2, "jbd2/vdb-8", "writeback", "device_io  vdb, "),
    _said(4, 1, "jbd2/sda", '"sda slow for jbd2"', "device_io  sda  jbd2"),
    _said(5, 1, "jbd2/vdb-8", "jbd2", r"[\d.]+ %  vdb slow for jbd2"),
    _said(6, 1, "latwriter", "jbd2", r"[\d.]+ %  vdb slow for jbd2"),
    _said(7, 6, "jbd2/vdb-8", "b", "block_queue"),
    _said(8, 1, "latwriter", "writeback", "device_io"),
    Number(1, "2. Of {} writes", lambda run, _: (f"{run.summary['writes']:,}",)),
    Number(
        1,
        "p50 is {} ms, and {} of {} writes stall. Why does p99 show {} s",
        lambda run, _: (
            f"{run.summary['p50_ns'] / MS:.2f}",
            str(run.summary["stalls"]),
            f"{run.summary['writes']:,}",
            f"{run.summary['p99_ns'] / S:.1f}",
        ),
    ),
    Number(
        2,
        "had {} waits of jbd2 below it. Why {}, and",
        lambda run, _: (
            shown(run, 1, r"vdb, (\d+) waits"),
            word(int(shown(run, 1, r"vdb, (\d+) waits"))),
        ),
    ),
    Number(
        3,
        "Four writes of {} s ended at the same time",
        lambda run, _: (f"{run.write(5)['dur_ns'] / S:.1f}",),
    ),
    Number(
        5,
        "In {} s the eight threads have {} s of time together",
        lambda run, _: (
            str(run.manifest["scenario"]["duration_s"]),
            str(run.workload("writers") * run.manifest["scenario"]["duration_s"]),
        ),
    ),
    Number(
        5,
        "p50 of the writes is {} s, and the slowest call took {} s",
        lambda run, _: (
            f"{run.summary['p50_ns'] / S:.1f}",
            f"{run.summary['longest_stall_ns'] / S:.1f}",
        ),
    ),
    Number(
        6,
        "{} threads stalled for {} s each",
        lambda run, _: (
            word(run.workload("writers")).capitalize(),
            f"{run.summary['longest_stall_ns'] / S:.1f}",
        ),
    ),
    Number(
        1,
        "{} writes were a copy: {} ms",
        lambda run, _: (
            f"{run.summary['writes'] - run.summary['stalls']:,}",
            f"{run.summary['p50_ns'] / MS:.2f}",
        ),
    ),
    Number(
        1,
        "which jbd2 held for {} ms. Both its waits end at jbd2's I/O: {} and {} ms",
        lambda run, _: (
            ms(run, 1, "journal_buffer"),
            ms(run, 1, "device_io"),
            ms(run, 1, "device_io", 1),
        ),
    ),
    Number(
        1,
        "The median is {} ms, the slowest write took {} ms",
        lambda run, _: (
            f"{run.summary['p50_ns'] / MS:.2f}",
            f"{run.summary['longest_stall_ns'] / MS:.0f}",
        ),
    ),
    Number(1, "{} calls took {} of the {} ms", lambda *_: _slow_calls()),
    Number(1, "**Prediction 2.** {}.", lambda run, _: (str(run.summary["stalls"]),)),
    Number(
        1,
        "A stall of {} s with one write a millisecond keeps about {} writes from"
        " starting; all four together about {} of {}",
        lambda run, _: (
            f"{run.summary['longest_stall_ns'] / S:.1f}",
            f"{round(run.summary['longest_stall_ns'] / MS, -2):,.0f}",
            f"{round(run.summary['stall_ns'] / MS, -2):,.0f}",
            f"{run.summary['writes']:,}",
        ),
    ),
    Number(
        1,
        "About {} ms for the calls alone: {} s of stalls over {} calls add {} ms",
        lambda run, _: (
            f"{(run.summary['p50_ns'] + each_ns(run)) / MS:.1f}",
            f"{run.summary['stall_ns'] / S:.1f}",
            f"{run.summary['writes']:,}",
            f"{each_ns(run) / MS:.1f}",
        ),
    ),
    Number(
        1,
        "**The change.** {} ms:",
        lambda _, changed: (f"{changed.summary['max_ns'] / MS:.1f}",),
    ),
    Number(
        2,
        "all {} do, and {} % of their time is `page_lock`",
        lambda run, _: (
            str(run.summary["stalls"]),
            run.share("page_lock", 1),
        ),
    ),
    Number(
        2,
        "{} ms is the slowest here",
        lambda run, _: (f"{run.summary['longest_stall_ns'] / MS:.0f}",),
    ),
    Number(
        2,
        "{} whole delays of {} ms, the last {} ms of a delay that had begun before the"
        " call, and {} sleep of {} ms for the end of an I/O that nobody delays: {} ms",
        lambda run, _: (
            word(eight(run).whole).capitalize(),
            run.rule(),
            f"{eight(run).rest_ms:.0f}",
            word(len(eight(run).other_ms)),
            f"{sum(eight(run).other_ms):.1f}",
            shown(run, 1, r"(\d+) ms device_io  vdb, "),
        ),
    ),
    Number(
        3,
        "all {} stalls do",
        lambda run, _: (str(run.summary["stalls"]),),
    ),
    Number(
        3,
        "{} % of the time is `journal_transaction`",
        lambda run, _: (run.share("journal_transaction", 0),),
    ),
    Number(
        3,
        "They ended within {} ms of each other",
        lambda run, _: (ended_within_ms(run, 2, 5),),
    ),
    Number(
        3,
        "there are {} times as many",
        lambda run, _: (
            word(
                COMMIT_S
                // next(
                    int(option.removeprefix("commit="))
                    for option in run.manifest["scenario"]["filesystem"][
                        "mount_options"
                    ]
                    if option.startswith("commit=")
                )
            ),
        ),
    ),
    Number(
        4,
        "{} writes stalled, the slowest for {} ms",
        lambda run, _: (
            str(run.summary["stalls"]),
            f"{run.summary['longest_stall_ns'] / MS:.0f}",
        ),
    ),
    Number(
        5,
        "{} is the length of the one call",
        lambda run, _: (f"{run.summary['longest_stall_ns'] / MS:.0f}",),
    ),
    Number(
        5,
        "each I/O takes {} ms. The slowest call waited for {} of them in a commit, {}"
        " of its {} ms",
        lambda run, _: (
            run.rule(),
            str(waits(run, 1)),
            shown(run, 1, r"(\d+) ms journal_commit_wait"),
            f"{run.summary['longest_stall_ns'] / MS:.0f}",
        ),
    ),
    Number(
        5,
        "All of it: {} s of {} s. The last calls ended after the {} s",
        lambda run, _: (
            f"{run.summary['stall_ns'] / S:.0f}",
            str(run.workload("writers") * run.manifest["scenario"]["duration_s"]),
            str(run.manifest["scenario"]["duration_s"]),
        ),
    ),
    Number(
        5,
        "Each thread wanted {} fsyncs a second and got {} in {} s",
        lambda run, _: (
            word(1_000_000 // run.workload("interval_us")),
            str(_fsyncs(run) // run.workload("writers")),
            str(run.manifest["scenario"]["duration_s"]),
        ),
    ),
    Number(
        5,
        "**The change.** {} s: {} flushes of {} ms",
        lambda _, changed: (
            f"{changed.summary['longest_stall_ns'] / S:.1f}",
            word(waits(changed, 1)),
            changed.rule(),
        ),
    ),
    Number(
        6,
        "there are {} of them",
        lambda run, _: (word(run.workload("writers")),),
    ),
    Number(
        6,
        "the slowest {} ended within {} ms of each other",
        lambda run, _: (
            word(run.workload("writers")),
            ended_within_ms(run, 1, run.workload("writers")),
        ),
    ),
    Number(
        6,
        "it waited for {}, too. In the end {} is at the head",
        lambda run, _: (shown(run, 1, r"held by latwriter/(\d+)"),) * 2,
    ),
    Number(
        6,
        "{} s in {} calls",
        lambda run, _: (
            f"{run.summary['stall_ns'] / S:.1f}",
            str(run.summary["stalls"]),
        ),
    ),
    Number(
        6,
        "The pause is the write: {} of {} ms, {} threads stopped",
        lambda _, changed: _pause(changed),
    ),
    Number(
        7,
        "**Prediction 1.** About {} s, what `b` has queued at {} MiB/s",
        lambda run, _: (
            f"{run.write(6)['dur_ns'] / S:.0f}",
            f"{_limit(run) >> 20}",
        ),
    ),
    Number(
        7,
        "the waits for a commit fall from {} s to {} ms. The inode's lock stays, and"
        " takes {} s",
        lambda run, changed: (
            f"{run.class_ns('journal_commit_wait') / S:.0f}",
            f"{changed.class_ns('journal_commit_wait') / MS:.0f}",
            f"{changed.class_ns('inode_lock') / S:.0f}",
        ),
    ),
    Number(
        8,
        "{} times {} ms is {} s; it took {} s",
        lambda _, changed: (
            str(waits(changed, 1)),
            changed.rule(),
            f"{waits(changed, 1) * float(changed.rule()) / 1000:.1f}",
            f"{changed.summary['longest_stall_ns'] / S:.1f}",
        ),
    ),
)


def _slow_calls() -> tuple[str, ...]:
    """What the lesson of lab 1 printed of the writer."""
    text = (LESSONS / "1-how-long-do-writes-take.txt").read_text()
    sums = dict(re.findall(r"@(\w+)\[latwriter\]: (\d+)", text))
    return tuple(sums[name] for name in ("slow_calls", "slow_ms", "all_ms"))


def _fsyncs(run: Run) -> int:
    return sum(chain["call"] == "fsync" for chain in run.output["chains"])


def _pause(run: Run) -> tuple[str, ...]:
    """The first pause that explain prints, and the write that it is."""
    longest = PAUSE.search(run.explain())
    assert longest
    return longest[3], longest[1], word(int(longest[2]))


def _limit(run: Run) -> int:
    groups = run.manifest["scenario"]["cgroup"]
    return int(next(one["io_max"]["wbps"] for one in groups if "io_max" in one))


@cache
def values() -> tuple[tuple[Number, tuple[str, ...]], ...]:
    """All of NUMBERS with their values."""
    with tempfile.TemporaryDirectory(prefix="writestall-") as scratch:
        runs: dict[str, Run] = {}
        for lab in tables.labs():
            for name in (lab.shown, lab.changed["shown"]):
                if name not in runs:
                    work.unpack(name, Path(scratch, name))
                    runs[name] = Run(Path(scratch, name))
        return tuple((one, _of(one, runs)) for one in NUMBERS)


def _of(number: Number, runs: dict[str, Run]) -> tuple[str, ...]:
    lab = tables.lab(number.lab)
    found = number.values(runs[lab.shown], runs[lab.changed["shown"]])
    return tuple(map(str, found))
