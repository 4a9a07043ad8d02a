# SPDX-License-Identifier: GPL-2.0-only
"""test_forgetting: what a watch remembers of tasks goes when they are gone."""

from __future__ import annotations

import gc
import tracemalloc

from golden_runs import HOMES
from streamed import Repeated
from watcher.clocks import Clocks
from watcher.output import Output
from watcher.stream import Watched
from writestall.chain import roots
from writestall.chain.cgroups import label
from writestall.events.run_directory import open_run
from writestall.watch.ring import Bounds, S

RUN = HOMES["xfs-ilock-6.12"]
ROUND_NS = 2 * S
MOST_KIB = 64  # what a minute of ever new tasks takes


def roots_kib() -> float:
    """Memory that is held for the roots of chains, what is garbage collected."""
    gc.collect()
    only = tracemalloc.Filter(inclusive=True, filename_pattern=roots.__file__)
    taken = tracemalloc.take_snapshot().filter_traces([only])
    return sum(row.size for row in taken.statistics("filename")) / 1024


def test_roots_of_tasks_that_are_gone_are_forgotten() -> None:
    clocks = Clocks(lambda: 0)
    watched = Watched(open_run(RUN), Bounds(), clocks, Output(patient=True), label)
    now_ns = tick_ns = 0
    early_kib = 0.0
    rounds = Repeated(RUN, ROUND_NS)
    tracemalloc.start()
    try:
        for line in rounds.rounds(3 * 60 * S // ROUND_NS):
            now_ns = max(now_ns, watched.take(line, now_ns))
            if now_ns >= tick_ns:
                watched.tick(now_ns)
                tick_ns = now_ns + S // 2
            if rounds.stalls == 36 * 60 and not early_kib:
                early_kib = roots_kib()
        late_kib = roots_kib()
    finally:
        tracemalloc.stop()
    assert watched.explaining.counts.reported > 3000
    assert early_kib > 0
    assert late_kib < early_kib + MOST_KIB
