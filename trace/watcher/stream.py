# SPDX-License-Identifier: GPL-2.0-only
"""stream: take a stream's lines, and tell every stall, loss and open call of it.

The same for a host and for a run that is replayed; only the clock differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from watcher.clocks import Clocks
from watcher.output import INFO, NOTICE, WARNING, Entry, Output
from watcher.trap import OPEN, Trap
from writestall.chain.answers import Answer
from writestall.chain.cgroups import Naming
from writestall.events.run_directory import RunDir
from writestall.report.text import chain_lines
from writestall.watch import bounded
from writestall.watch.explaining import Explained, Explaining
from writestall.watch.losses import Losses
from writestall.watch.open_stalls import S, Sleeping, texts, with_group
from writestall.watch.reporting import IDENTITY, Reported, Reporter
from writestall.watch.ring import Bounds

if TYPE_CHECKING:
    from writestall.watch.metrics import Metrics

FORGET_NS = 60 * S


class Watched:
    """One stream, and where its stalls are reported.

    tree            print the whole chain below a stall's line
    unknown_device  whether a call was on one that the manifest does not have
    """

    def __init__(
        self,
        run: RunDir,
        bounds: Bounds,
        clocks: Clocks,
        output: Output,
        name: Naming,
        *,
        tree: bool = False,
    ) -> None:
        self.explaining = Explaining(run, bounds)
        self.reporter = Reporter(run, name)
        self.metrics: Metrics | None = None
        self.trap: Trap | None = None
        self.clocks = clocks
        self._output, self._name, self._tree = output, name, tree
        self._losses = Losses(self.explaining)
        self.unknown_device = False
        self._forgotten_ns = 0

    def take(self, line: bytes, now_ns: int) -> int:
        """Take a line of the tracer; return when what it tells has ended."""
        return self.explaining.take(line, now_ns)

    def tick(self, now_ns: int, open_since_ns: int | None = None) -> None:
        """Tell what is due; keep the events since the oldest open call began."""
        for explained in self.explaining.due(now_ns):
            self._tell(explained, now_ns)
        since_ns = now_ns if open_since_ns is None else open_since_ns
        self.explaining.trim(now_ns, since_ns)
        self._account(now_ns)
        if now_ns - self._forgotten_ns >= FORGET_NS:
            self._forgotten_ns = now_ns
            bounded.forget()
            self.reporter.forget()

    def finish(self, now_ns: int) -> None:
        """Tell all that is left, and what all was."""
        while self.explaining.pending:
            for explained in self.explaining.due(now_ns, every=True):
                self._tell(explained, now_ns)
        self._account(now_ns, at_once=True)
        self.say(f"watched: {self._losses.summary()}", NOTICE)

    def renew(self, run: RunDir) -> None:
        """Take the disks and file systems as they are now."""
        self.unknown_device = False
        self.explaining.run = run
        self.reporter.renew(run)

    def undumped(self, trigger: str, why: str) -> None:
        """Tell that a run directory was not written."""
        self.say(f"no run directory for the trigger {trigger}: {why}", WARNING)
        if self.metrics:
            self.metrics.undumped(trigger)

    def show(
        self, tasks: tuple[Sleeping, ...], shown: tuple[int, ...], now_ns: int
    ) -> None:
        """Tell of calls that have not ended, from the stacks of all that sleep."""
        groups = {task.tid: task.cgroup for task in tasks}
        since = {task.tid: task.since_ns for task in tasks}
        for tid, text in zip(shown, texts(tasks, shown, now_ns), strict=True):
            line = with_group(text, groups[tid], self._name)
            self._output.put(Entry(line, WARNING, self.clocks.text(since[tid])))
            if self.trap:
                self.trap.stalled(now_ns - since[tid], now_ns, OPEN)

    def say(self, text: str, priority: int = INFO) -> None:
        """Tell of the watch itself."""
        self._output.put(Entry(f"watch: {text}", priority))

    def _account(self, now_ns: int, *, at_once: bool = False) -> None:
        """Tell what was lost, and count it."""
        for text in self._losses.lines(now_ns, at_once=at_once):
            self.say(text, WARNING)
        if self.metrics:
            self.metrics.follow(self.explaining, self._output.unprinted)

    def _tell(self, explained: Explained, now_ns: int) -> None:
        reported = self.reporter.reported(explained)
        write = reported.chain.write
        self.unknown_device |= not self.reporter.knows(write.dev)
        time = self.clocks.text(write.t_ns)
        line, fields = self.reporter.line(reported), self.reporter.fields(reported)
        self._output.put(Entry(line, NOTICE, time, fields))
        if self._tree:
            whose = {name: fields[name] for name in IDENTITY}
            for text in _tree_lines(explained.answer, reported):
                self._output.put(Entry(text, INFO, fields=whose))
        if self.metrics:
            self.metrics.add(reported)
        if self.trap:
            self.trap.stalled(write.dur_ns, now_ns)


def _tree_lines(answer: Answer, reported: Reported) -> Iterator[str]:
    chain = reported.chain
    chains = answer.chains.of([(chain.id, chain.write)])
    yield from list(chain_lines(answer, chains))[1:]
