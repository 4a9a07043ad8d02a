# SPDX-License-Identifier: GPL-2.0-only
"""dump: write held events as a run directory, as record does."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labrun.progress import Progress
from labrun.steps import Run
from labrun.stop import Stop
from recorder.recording import of_this_host
from recorder.tasks import SYMBOLS, Tasks
from watcher.trap import size_of
from writestall.watch.ring import Segment

OF_A_LOSS = b'"ev":"lost"'


@dataclass(frozen=True)
class Content:
    """What a dump is made of."""

    engine: str
    asked: dict[str, Any]
    tracer: dict[str, Any]
    first_lines: list[bytes]
    segments: list[Segment]
    window: tuple[int, int]


def write(folder: Path, content: Content, most_bytes: int) -> int:
    """Write the run directory; return its size. What fails leaves nothing."""
    folder.mkdir(mode=0o700)
    try:
        return _fill(folder, content, most_bytes)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _fill(folder: Path, content: Content, most_bytes: int) -> int:
    run = Run(folder, Progress("none"), Stop(""))
    start_ns, end_ns = content.window
    run.manifest |= {"recorded": content.asked} | of_this_host()
    run.manifest |= {"writer": None, "window": {"start_ns": start_ns, "end_ns": end_ns}}
    run.create()
    run.events.mkdir()
    tasks = Tasks(folder, [])
    lines = _Counted(content, tasks.hear)
    with gzip.open(run.events / f"{content.engine}.jsonl.gz", "wb", 6) as file:
        file.writelines(lines)
    run.manifest["tracers"] = [
        content.tracer | {"events": lines.events, "lost": lines.lost}
    ]
    tasks.start()
    run.manifest["tasks"] = tasks.end()
    run.manifest["containers"] = tasks.containers()
    run.finish()
    if (size := size_of(folder)) > most_bytes:
        for path in (folder / SYMBOLS).glob("perf-*.map"):
            path.unlink()
        size = size_of(folder)
    return size


class _Counted(Iterable[bytes]):
    """All lines with an end behind them; `heard` hears each."""

    def __init__(self, content: Content, heard: Callable[[bytes], None]) -> None:
        self._content, self._heard = content, heard
        self.events = self.lost = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._content.first_lines:
            self._heard(line)
            yield line
        for segment in self._content.segments:
            for line in segment.unpacked():
                self.events += 1
                if OF_A_LOSS in line:
                    self.lost += json.loads(line).get("count", 0)
                self._heard(line)
                yield line
        end = {"ev": "end", "t_ns": self._content.window[1]}
        end |= {"events": self.events, "lost": self.lost}
        yield json.dumps(end, separators=(",", ":")).encode() + b"\n"
