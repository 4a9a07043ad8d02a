# SPDX-License-Identifier: GPL-2.0-only
"""replay: feed the events of a run, or of a file, as if they came now.

The clock is that of the events: an hour of them takes as long as explaining them does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from watcher.clocks import Clocks
from watcher.stream import Watched
from writestall.events.run_directory import RunDir, open_run
from writestall.watch.ring import S

TICK_NS = S // 2


def manifest_of(place: Path) -> RunDir:
    """The run of a directory; of a file of events, or a pipe, one that is empty."""
    return open_run(place) if place.is_dir() else RunDir(place)


def clocks_of(run: RunDir) -> Clocks:
    """The clocks as they stood when the run was recorded."""
    ahead_ns = run.realtime_ns(0) or 0
    return Clocks(lambda: ahead_ns)


@contextmanager
def _opened(run: RunDir) -> Iterator[IO[bytes]]:
    place = run.events(run.pick_engine(None)) if run.path.is_dir() else run.path
    with place.open("rb") as file:
        yield file


def replay(run: RunDir, watched: Watched, ended: Callable[[], bool]) -> None:
    """Feed all lines; `ended` says whether to stop before."""
    now_ns = tick_ns = 0
    with _opened(run) as lines:
        for line in lines:
            now_ns = max(now_ns, watched.take(line, now_ns))
            if now_ns >= tick_ns:
                watched.tick(now_ns)
                tick_ns = now_ns + TICK_NS
            if ended():
                break
    watched.finish(now_ns)
