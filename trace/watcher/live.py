# SPDX-License-Identifier: GPL-2.0-only
"""live: watch this host until a signal or the tracer ends it."""

from __future__ import annotations

import argparse
import queue
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from foreign import unread
from labrun.run.tracer import SCRIPT
from recorder.engines import Engine
from recorder.guard import Guard
from recorder.recording import asked_for, of_this_host
from watcher import dump
from watcher.output import ERROR, INFO, WARNING
from watcher.own import Costs
from watcher.presence import Presence, Service
from watcher.source import Source, running
from watcher.stream import Watched
from watcher.tasks_asleep import Chosen, Seen, TasksAsleep
from watcher.trap import ASKED, Trap, io_full_percent
from writestall.events.run_directory import RunDir
from writestall.watch.open_stalls import S
from writestall.watch.samples import Open
from writestall_base.errors import EXIT_COMPLETE, EXIT_FAILED
from writestall_base.stop import Stop

TICK_S = 0.5
# How often disks and file systems are looked at again, if a call is on an unknown one.
RENEW_S = 60.0
COSTS_S = 5.0
DUMPED_WITHIN_S = 10.0  # at the end; what is not whole then says so


def host() -> RunDir:
    """This host as the explainer sees it: its disks and file systems."""
    return RunDir(Path("host"), of_this_host())


class Live:
    """A host that is watched, with all that takes part."""

    def __init__(
        self,
        options: argparse.Namespace,
        watched: Watched,
        stop: Stop,
        guard: Guard,
        publish: Callable[[], None],
    ) -> None:
        self._options, self._watched, self._stop = options, watched, stop
        self._guard, self._publish = guard, publish
        self._seen: queue.SimpleQueue[Seen] = queue.SimpleQueue()
        self._dumper = dump.Dumper(self._report, self._said)
        self._since_ns: int | None = None
        self._asked, self._service = False, Service()
        self._costs, self._costs_s, self._renewed_s = Costs(), 0.0, time.monotonic()
        self._begun_ns = time.monotonic_ns()

    def run(self, engine: Engine, presence: Presence) -> int:
        """Watch; return the exit status."""
        signal.signal(signal.SIGUSR1, self._ask)
        with ExitStack() as stack:
            begun = self._guard.session
            source = stack.enter_context(
                running(engine, self._options, begun, self._said)
            )
            stack.enter_context(self._looking())
            open_still = True
            while open_still and not self._stop.requested:
                open_still = source.wait(TICK_S)
                self._take(source.take())
                self._tick(source)
                if self._service.keep_alive():
                    presence.beat()
            return self._end(source)

    def _said(self, text: str) -> None:
        """A message of the launcher or its engine, or of a file that was not read."""
        files, metrics = unread.count(text), self._watched.metrics
        if files and metrics:
            metrics.unread(files)
        self._watched.say(text.removeprefix("trace: "), WARNING if files else INFO)

    def _ask(self, *_: object) -> None:
        self._asked = True

    @contextmanager
    def _looking(self) -> Iterator[None]:
        chosen, stall_ns = Chosen.by(self._options), self._options.stall_ns
        looking = TasksAsleep(self._seen.put, chosen, stall_ns)
        self._watched.explaining.heard = looking.heard
        looking.start()
        try:
            yield
        finally:
            looking.end()

    def _take(self, lines: Iterator[bytes]) -> None:
        now_ns = time.monotonic_ns()
        explaining = self._watched.explaining
        was_armed = explaining.begin is not None
        for line in lines:
            self._watched.take(line, now_ns)
        if explaining.begin and not was_armed:
            took_s = (now_ns - self._begun_ns) / S
            self._watched.say(f"armed after {took_s:.1f} s")
            self._service.ready()

    def _tick(self, source: Source) -> None:
        now_ns = time.monotonic_ns()
        self._look()
        self._watched.tick(now_ns, self._since_ns)
        if step_s := self._watched.clocks.stepped_s():
            self._watched.say(
                f"the clock was set by {step_s:+.1f} s; durations are not concerned",
                WARNING,
            )
        self._trap(now_ns)
        self._renew()
        metrics, now_s = self._watched.metrics, time.monotonic()
        if metrics and now_s - self._costs_s >= COSTS_S:
            self._costs_s = now_s
            metrics.cost(self._costs.now(source.pid))
            self._publish()

    def _look(self) -> None:
        """Take what the other thread has found at its looks."""
        while not self._seen.empty():
            seen = self._seen.get()
            self._since_ns = seen.oldest_ns
            if metrics := self._watched.metrics:
                metrics.open(Open(seen.open, seen.longest_ns / S))
            if seen.shown:
                self._watched.show(seen.tasks, seen.shown, seen.at_ns)

    def _renew(self) -> None:
        """Look at the disks again where a call is on one that is not known."""
        due = time.monotonic() - self._renewed_s >= RENEW_S
        if due and self._watched.unknown_device:
            self._renewed_s = time.monotonic()
            self._watched.renew(host())

    def _trap(self, now_ns: int, *, at_once: bool = False) -> None:
        trap = self._watched.trap
        if trap is None:
            return
        if self._asked:
            self._asked = False
            trap.spring(ASKED, now_ns)
        trap.pressed(io_full_percent(), now_ns)
        self._dumper.tell()
        if self._dumper.idle and (trigger := trap.due(now_ns, at_once=at_once)):
            self._dump(trap, trigger, now_ns)

    def _dump(self, trap: Trap, trigger: str, now_ns: int) -> None:
        explaining = self._watched.explaining
        if explaining.begin is None:
            self._watched.undumped(trigger, "the tracer is not armed yet")
            return
        window = max(self._begun_ns, explaining.ring.gone_ns), now_ns
        content = dump.Content(
            explaining.engine,
            asked_for(self._options) | {"for_s": (window[1] - window[0]) / S},
            self._tracer(),
            explaining.first_lines(),
            explaining.ring.snapshot(),
            window,
        )
        self._dumper.begin(trigger, content, trap)

    def _last_dump(self) -> None:
        """Write what was triggered and is not due yet, and tell what became of it."""
        until_s = time.monotonic() + DUMPED_WITHIN_S
        self._dumper.wait(until_s)
        self._trap(time.monotonic_ns(), at_once=True)
        self._dumper.wait(until_s)
        self._dumper.give_up()
        trap = self._watched.trap
        left = ASKED if self._asked else trap and trap.due(0, at_once=True)
        if left:
            self._watched.undumped(left, "the watch ended before it could be written")

    def _tracer(self) -> dict[str, Any]:
        begin = self._watched.explaining.begin
        return {
            "engine": begin.engine if begin else None,
            "version": begin.engine_version if begin else None,
            "script": SCRIPT,
            "exit_status": None,
        }

    def _report(self, trigger: str, place: Path, why: str) -> None:
        """Tell of a run directory that was written, or why it was not."""
        if why:
            self._watched.undumped(trigger, why)
            return
        if metrics := self._watched.metrics:
            metrics.dumped(trigger)
        self._watched.say(f"wrote {place} ({trigger}): writestall report {place}", INFO)

    def _end(self, source: Source) -> int:
        """End the tracer in order and tell all that is left."""
        self._take(source.stop())
        how = source.close()
        self._watched.finish(time.monotonic_ns())
        self._last_dump()
        armed = self._watched.explaining.begin is not None
        if self._stop.requested and not (armed and how):
            return EXIT_COMPLETE
        why = how or ("nobody asked it to" if armed else "it never armed")
        self._watched.say(f"the tracer ended: {why}", ERROR)
        return EXIT_FAILED
