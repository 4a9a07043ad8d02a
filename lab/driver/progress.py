# SPDX-License-Identifier: GPL-2.0-only
"""progress: print a line per stage: what runs, how long it took, what is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from machine import cache
from machine.commands import started
from writestall_base.errors import UserError

TAIL_LINES = 15
# Folders of logs in the cache, one for each run of a command; the newest stay.
RUNS_KEPT = 50
TICK_S = 1.0
# A countdown reads what is left of a stage so often.
ASK_S = 60.0


@dataclass(frozen=True)
class Stage:
    """A step of a command: its name, and what to do when it fails."""

    name: str
    remedy: str


def watched(
    commands: Sequence[list[str]],
    output: IO[str] | IO[bytes],
    end: signal.Signals = signal.SIGTERM,
) -> int:
    """Run commands at the same time; return 0 or the first other status.

    When this process is interrupted, it sends them `end` and waits for them.
    """
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    with contextlib.ExitStack() as stack:
        children = [
            stack.enter_context(started(command, end, stdout=output, **options))
            for command in commands
        ]
        return next(filter(None, [child.wait() for child in children]), 0)


class StageError(UserError):
    """A stage failed; its report was printed."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


def _folder_of_run() -> Path:
    """Make a folder for the logs of this run, and remove the oldest of others."""
    logs = cache.root() / "logs"
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    (logs / name).mkdir(parents=True, exist_ok=True)
    for old in sorted(path for path in logs.iterdir() if path.is_dir())[:-RUNS_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return logs / name


class Progress:
    """Run stages in order, each with a log file."""

    def __init__(self, stages: tuple[Stage, ...], verbose: bool = False) -> None:
        self.stages = stages
        self.logs = _folder_of_run()
        self.verbose = verbose
        self._live = sys.stderr.isatty() and not self.verbose
        self._done = 0

    def _line(self, mark: str, detail: str, seconds: float) -> str:
        stage = self.stages[self._done]
        count = f"[{self._done + 1}/{len(self.stages)}]"
        return f"{count} {mark} {stage.name:<22} {seconds:7.1f} s  {detail}".rstrip()

    def _left(self) -> str:
        names = [stage.name for stage in self.stages[self._done + 1 :]]
        return f"then: {', '.join(names)}" if names else "last one"

    def _tick(self, log: StageLog, start: float, over: threading.Event) -> None:
        """Show what is going on: on a terminal each second, else what is left."""
        shown = ""
        while not over.wait(TICK_S):
            left = log.countdown.line() if log.countdown else ""
            if not self._live and left == shown:
                continue
            now = left or log.last_line()[:60] or self._left()
            text = self._line("..", now, time.monotonic() - start)
            before, after = ("\r\033[K", "") if self._live else ("", "\n")
            print(before + text[:119], end=after, file=sys.stderr, flush=True)
            shown = left

    @contextlib.contextmanager
    def stage(self) -> Iterator[StageLog]:
        """Run the body as the next stage; its failure ends the command."""
        stage = self.stages[self._done]
        log = StageLog(self.logs / f"{stage.name.replace(' ', '-')}.log", self.verbose)
        start, over = time.monotonic(), threading.Event()
        ticker = threading.Thread(
            target=self._tick, args=(log, start, over), daemon=True
        )
        if not self._live:
            print(self._line("..", self._left(), 0.0), file=sys.stderr)
        ticker.start()
        mark = "!!"
        try:
            yield log
            mark = "ok"
        except UserError as error:
            log.note = str(error)
            raise StageError(log.status or 1) from None
        finally:
            over.set()
            ticker.join()
            if self._live:
                print("\r\033[K", end="", file=sys.stderr)
            seconds = time.monotonic() - start
            first, *more = log.note.splitlines() or [""]
            print(self._line(mark, first, seconds), *more, sep="\n", file=sys.stderr)
            if mark == "!!":
                log.show_end(stage.remedy)
            self._done += 1


class Countdown:
    """How much of a stage is done, and when the rest will be.

    `left` counts what is left; it is asked once in ASK_S.
    """

    def __init__(self, what: str, left: Callable[[], int]) -> None:
        self._what, self._left = what, left
        self._of, self._start_s = left(), time.monotonic()
        self._next_s = self._start_s + ASK_S
        self._line = ""

    def line(self) -> str:
        """Empty during the first ASK_S."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + ASK_S
            try:
                left = self._left()
            except UserError:  # what reads it in earnest says why
                return self._line
            done = self._of - left
            self._line = f"{done} of {self._of} {self._what} done"
            if done > 0:
                left_min = (now_s - self._start_s) / done * left / 60
                self._line += f", about {left_min:.0f} min left"
        return self._line


class StageLog:
    """What a stage's commands print: kept in a file, shown on failure."""

    def __init__(self, path: Path, verbose: bool) -> None:
        self.path = path
        self.verbose = verbose
        self.note = ""
        self.countdown: Countdown | None = None
        self.status = 0
        path.write_text("")

    def run(self, *commands: list[str], end: signal.Signals = signal.SIGTERM) -> None:
        """Run commands at the same time; log what they print, and show it if verbose.

        `end` is the signal that ends them when this process is interrupted.
        """
        with self.path.open("a") as log:
            for command in commands:
                log.write(f"$ {' '.join(command)}\n")
            log.flush()
            if self.verbose:
                self.status = self._tee(commands, end)
            else:
                self.status = watched(commands, log, end)
        if self.status:
            raise UserError(f"failed with status {self.status}")

    def _tee(self, commands: Sequence[list[str]], end: signal.Signals) -> int:
        tee = ["tee", "--append", str(self.path)]
        with subprocess.Popen(tee, stdin=subprocess.PIPE, stdout=2) as copier:
            assert copier.stdin is not None
            status = watched(commands, copier.stdin, end)
            copier.stdin.close()
        return status

    def last_line(self) -> str:
        """The last line that its commands printed."""
        lines = self.path.read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    def show_end(self, remedy: str) -> None:
        """After a failure, print the end of the log, its path and what to do."""
        lines = self.path.read_text(errors="replace").splitlines()
        if not self.verbose:
            for line in lines[-TAIL_LINES:]:
                print(f"    {line}", file=sys.stderr)
        print(f"  the whole log: {self.path}\n  what to do: {remedy}", file=sys.stderr)
