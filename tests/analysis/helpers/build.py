# SPDX-License-Identifier: GPL-2.0-only
"""build: make run directories from a few events, for tests of the analysis.

Times are ms from the run's start, so that a test reads like a timeline. Stacks have
their words in made_stacks.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from made_stacks import STACKS

START_NS = 50_000_000_000
MS = 1_000_000


class Events:
    """Collects the lines of one tracer."""

    def __init__(self, engine: str = "stap", floor_ms: float = 1) -> None:
        self.rows: list[dict[str, Any]] = [
            {
                "ev": "begin",
                "t_ns": START_NS,
                "engine": engine,
                "engine_version": "5.6",
                "script": "stalled_writes",
                "kernel": "6.12.107+deb13-amd64",
                "floor_ns": int(floor_ms * MS),
                "stall_ns": 50 * MS,
            }
        ]

    def block(
        self,
        tid: int,
        at_ms: float,
        dur_ms: float,
        stack: str,
        waker: tuple[int, str] | None,
        waker_stack: str = "timer",
        *,
        comm: str = "latwriter",
        ctx: str | None = "task",
        runq_ms: float = 0,
        **lock: Any,
    ) -> int:
        """One sleep; `waker` is tid and comm, `lock` the fields of the lock.

        Returns the event's id (its line).
        """
        self.rows.append(
            {
                "ev": "block",
                "t_ns": START_NS + int(at_ms * MS),
                "dur_ns": int(dur_ms * MS),
                "runq_ns": int(runq_ms * MS),
                "tid": tid,
                "pid": tid,
                "comm": comm,
                "kstack": STACKS[stack],
                "waker_tid": waker[0] if waker else None,
                "waker_comm": waker[1] if waker else None,
                "waker_ctx": ctx if waker else None,
                "waker_kstack": STACKS[waker_stack] if waker else [],
            }
            | lock
        )
        return len(self.rows)

    def write(
        self,
        tid: int,
        at_ms: float,
        dur_ms: float,
        slept_ms: float | None,
        sleeps: int = 1,
        stack: str = "journal_buffer",
        comm: str = "latwriter",
        **more: Any,
    ) -> int:
        """One stalled write(2). Returns the event's id."""
        row = {
            "ev": "write",
            "t_ns": START_NS + int(at_ms * MS),
            "dur_ns": int(dur_ms * MS),
            "tid": tid,
            "pid": tid,
            "comm": comm,
            "call": "write",
            "fd": 3,
            "dev": "254:16",
            "ino": 12,
            "path": "lab/gc.log",
            "offset": 4096,
            "bytes": 200,
            "ret": 200,
            "sleeps": sleeps,
            "slept_ns": None if slept_ms is None else int(slept_ms * MS),
            "kstack": STACKS[stack],
            "ustack": [],
        }
        self.rows.append(row | more)
        return len(self.rows)

    def io(
        self,
        tid: int,
        at_ms: float,
        dur_ms: float,
        comm: str,
        stack: str = "none",
        op: str = "write",
        flags: Sequence[str] = (),
    ) -> None:
        """One bio that a task submitted; a worker's has a stack."""
        self.rows.append(
            {
                "ev": "io",
                "t_ns": START_NS + int(at_ms * MS),
                "dur_ns": int(dur_ms * MS),
                "tid": tid,
                "pid": tid,
                "comm": comm,
                "dev": "254:16",
                "op": op,
                "flags": flags,
                "sector": 4242,
                "bytes": 4096,
                "kstack": STACKS[stack],
            }
        )

    def lost(self, count: int, what: str = "events", why: str = "too slow") -> None:
        """A `lost` event."""
        row = {"ev": "lost", "t_ns": START_NS, "count": count, "what": what, "why": why}
        self.rows.append(row)

    def end(self) -> Events:
        """The `end` line."""
        lost = sum(row["count"] for row in self.rows if row["ev"] == "lost")
        count = len(self.rows) - 1
        end_ns = START_NS + 60_000 * MS
        self.rows.append({"ev": "end", "t_ns": end_ns, "events": count, "lost": lost})
        return self


def manifest(**more: Any) -> dict[str, Any]:
    """A manifest of a complete run."""
    base: dict[str, Any] = {
        "format": 1,
        "status": "complete",
        "reason": None,
        "scenario": {
            "name": "journal-buffer",
            "inject": [{"submitter": "jbd2/*", "mode": "sleep", "delay_us": 300_000}],
            "expect": {
                "chain": ["journal_buffer", "device_io"],
                "stalled_writes_min": 1,
                "stall_ms_min": 500,
            },
        },
        "kernel": "6.12.107+deb13-amd64",
        "arch": "x86_64",
        "device": {"name": "vdb", "dev": "254:16", "size_bytes": 1 << 30},
        "window": {"start_ns": START_NS, "end_ns": START_NS + 20_000 * MS},
    }
    return base | more


def json_lines(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def run_dir(
    path: Path,
    *streams: Events,
    truth: Sequence[dict[str, Any]] | None = None,
    client: Sequence[dict[str, Any]] | None = None,
    **more: Any,
) -> Path:
    """Writes a run directory with the streams, records and manifest given."""
    (path / "events").mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps(manifest(**more)))
    for stream in streams:
        engine = stream.rows[0]["engine"]
        (path / "events" / f"{engine}.jsonl").write_text(json_lines(stream.rows))
    if truth is not None:
        (path / "truth.jsonl").write_text(json_lines(truth))
    if client is not None:
        (path / "writer.jsonl").write_text(json_lines(client))
    return path


def bio_delay(at_ms: float, dur_ms: float, tid: int, comm: str) -> dict[str, Any]:
    """One line of truth.jsonl."""
    return {
        "ev": "bio_delay",
        "t_ns": START_NS + int(at_ms * MS),
        "dur_ns": int(dur_ms * MS),
        "requested_ns": int(dur_ms * MS),
        "rule": 0,
        "mode": "sleep",
        "dev": "254:16",
        "sector": 4242,
        "bytes": 4096,
        "op": "write",
        "flags": ["SYNC"],
        "tid": tid,
        "comm": comm,
    }


def cascade(engine: str = "stap", skew_ms: float = 0) -> Events:
    """The original cascade: writer <- page lock <- flusher <- jbd2 <- disk.

    One write of 1000 ms: 600 ms journal buffer held by jbd2, which sleeps twice while
    it holds a bio; 390 ms page lock, held by the flusher, which waits for jbd2.
    """
    jbd2, flusher = (253, "jbd2/vdb-8"), (77, "kworker/u8:3")
    ev = Events(engine)
    s = skew_ms
    ev.block(
        253, -50, 300, "jbd2_submit", (0, "swapper/0"), ctx="softirq", comm=jbd2[1]
    )
    ev.block(253, 250.2, 349.6, "jbd2_submit", (1, "x"), ctx="softirq", comm=jbd2[1])
    ev.block(300, s, 600, "journal_buffer", jbd2, "jbd2_wakes", runq_ms=2)
    ev.block(253, 600.5, 399, "jbd2_submit", (1, "x"), ctx="softirq", comm=jbd2[1])
    ev.block(77, 580, 419.7, "flusher", jbd2, "jbd2_wakes", comm=flusher[1])
    ev.block(300, 609, 391, "page_lock", flusher, "unlocks")
    ev.write(300, s, 1000, 995, sleeps=6)
    return ev.end()
