# SPDX-License-Identifier: GPL-2.0-only
"""replay: feed the events of a run, or of a file, as if they came now.

The clock is that of the events: an hour of them takes as long as explaining them does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from watcher.clocks import Clocks
from watcher.output import WARNING
from watcher.stream import Watched
from writestall.chain.answers import gaps
from writestall.common import compressed
from writestall.common.compressed import Bound
from writestall.events.run_directory import EVENTS_ALONE, SO_FAR, RunDir, open_run
from writestall.events.stream import Stream, no_event
from writestall.watch.ring import S
from writestall_base.errors import EXIT_COMPLETE, EXIT_REFUSED, UserError

TICK_NS = S // 2
NO_CLOCK = "manifest.json: no clocks of the run; times of day unknown"


def manifest_of(place: Path, bound: Bound) -> RunDir:
    """The run of a directory or a file; an empty one of a pipe, read as it comes."""
    if place.is_dir() or place.is_file():
        return open_run(place, bound)
    return RunDir(place, notes=[EVENTS_ALONE], bound=bound)


def clocks_of(run: RunDir) -> Clocks:
    """The clocks as they stood when the run was recorded."""
    ahead_ns = run.realtime_ns(0)
    return Clocks(lambda: ahead_ns or 0, known=ahead_ns is not None)


def replay(run: RunDir, watched: Watched, ended: Callable[[], bool]) -> int:
    """Feed all lines; `ended` says whether to stop before. Return the exit status.

    What is damaged or cut off is bad input, though all before that is reported.
    """
    alone = not run.bare and not run.path.is_dir()
    place = run.path if alone else run.events(run.pick_engine(None))
    for note in _notes(run):
        watched.say(note, WARNING)
    explaining = watched.explaining
    explaining.file = place.name
    damage: list[str] = []
    now_ns = _feed(_lines(place, run, damage), watched, ended)
    for text in damage:
        watched.say(text, WARNING)
    if not ended():
        if not explaining.counts.events:
            raise no_event(place, explaining.problems)
        for gap in gaps(Stream(place.name, explaining.begin, explaining.end)):
            watched.say(gap, WARNING)
    watched.finish(now_ns)
    return EXIT_REFUSED if damage else EXIT_COMPLETE


def _notes(run: RunDir) -> Iterator[str]:
    yield from run.notes
    if run.manifest and run.realtime_ns(0) is None:
        yield NO_CLOCK


def _lines(place: Path, run: RunDir, damage: list[str]) -> Iterator[bytes]:
    """The lines of a file or a pipe, up to where it is damaged."""
    try:
        with compressed.opened(str(place), run.bound) as (content, _):
            yield from compressed.lines(content)
    except compressed.DamagedError as error:
        damage.append(f"{place.name}: {error}; {SO_FAR}")
    except OSError as error:
        raise UserError(f"{place}: {error.strerror}") from None
    except compressed.TooLargeError as error:
        raise UserError(f"{place}: {error}") from None


def _feed(lines: Iterable[bytes], watched: Watched, ended: Callable[[], bool]) -> int:
    """Feed the lines; return the time of the last event."""
    now_ns, tick_ns = 0, TICK_NS
    for line in lines:
        now_ns = max(now_ns, watched.take(line, now_ns))
        if now_ns >= tick_ns:
            watched.tick(now_ns)
            tick_ns = now_ns + TICK_NS
        if ended():
            break
    return now_ns
