# SPDX-License-Identifier: GPL-2.0-only
"""throttle_log: record when a cgroup's I/O waited in blk-throttle, by its own log.

What the tracers do not use: the messages that block/blk-throttle.c prints for blktrace
(throtl_log()), and the requests that the disk has (kernel/trace/blktrace.c). A row of
`throttled.jsonl` is a time in which bios of a cgroup were queued there while the disk
had no request at all: what waits for I/O then waits for the limit, or for nobody.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from labrun.scenario.keys import Cgroup
from labrun.setup.disk import Disk
from writestall_base.steps import Run

RECORD = "throttled.jsonl"
TRACING = Path("/sys/kernel/tracing")
# Written before tracing, and what they held is written back.
SETTINGS = (
    ("buffer_size_kb", "8192"),
    ("trace_clock", "mono"),
    ("current_tracer", "blk"),
)
OPTIONS = ("options/blk_cgroup", "options/blk_cgname")
EVENTS = "notify,issue,complete"
_LINE = re.compile(
    r"\s(?P<s>\d+)\.(?P<us>\d{6}):\s+(?P<dev>\d+,\d+)\s+(?:(?P<group>/\S*)\s+)?"
    r"(?P<what>[mDC])\s+(?P<flags>\S+)\s+(?P<rest>.*)"
)
_QUEUED = re.compile(r"throtl \[[RW]\] bio\.")
_ISSUED = re.compile(r"throtl bios disp=(\d+)")
_PLACE = re.compile(r"(\d+) \+ (\d+)")


@contextmanager
def recorded(run: Run, groups: Sequence[Cgroup], disk: Disk) -> Iterator[None]:
    """Record inside, where a cgroup has a limit."""
    if not any(group.io_max for group in groups):
        yield
        return
    before: dict[Path, str] = {}
    enable = Path("/sys/class/block", disk.name, "trace/enable")
    try:
        with run.step("throttle-log", str(enable)):
            for name, value in SETTINGS:
                before[TRACING / name] = _chosen(TRACING / name)
                (TRACING / name).write_text(value)
            for name in OPTIONS:
                (TRACING / name).write_text("1")
            (enable.parent / "act_mask").write_text(EVENTS)
            enable.write_text("1")
            run.manifest["throttle_log"] = RECORD
        yield
    finally:
        with run.undo("throttle-log-save") as step:
            if run.manifest.get("throttle_log"):
                enable.write_text("0")
                with (TRACING / "trace").open(errors="replace") as lines:
                    count = save(lines, _overrun(), run.folder / RECORD)
                step.detail = f"{count} times"
            for path, value in reversed(before.items()):
                path.write_text(value)


def _chosen(path: Path) -> str:
    """Return a setting in force: `[local] global mono` names the one in brackets."""
    text = path.read_text().strip()
    found = re.search(r"\[(\S+)\]", text)
    return found[1] if found else text.split()[0]


def _overrun() -> int:
    """Return how many lines the kernel overwrote."""
    stats = TRACING.glob("per_cpu/cpu*/stats")
    found = (re.search(r"^overrun: (\d+)", path.read_text(), re.M) for path in stats)
    return sum(int(match[1]) for match in found if match)


@dataclass
class _Queues:
    """What is queued and under way at a time.

    queued  bios by cgroup; issued: bios that left a level of queues, of all cgroups
    """

    queued: Counter[str] = field(default_factory=Counter)
    issued: int = 0
    requests: set[str] = field(default_factory=set)

    def see(self, match: re.Match[str]) -> None:
        """Follow one line."""
        place = _PLACE.search(match["rest"])
        if match["what"] == "D" and place and place[2] != "0":
            self.requests.add(place[1])
        elif match["what"] == "C" and place:
            self.requests.discard(place[1])
        elif match["what"] == "m" and _QUEUED.match(match["rest"]):
            self.queued[match["group"] or "/"] += 1
        elif match["what"] == "m" and (gone := _ISSUED.match(match["rest"])):
            self._issue(int(gone[1]))

    def _issue(self, count: int) -> None:
        """Each level of cgroups above a bio's, and the disk's own queue, counts it."""
        self.issued += count
        for group in self.queued:
            levels = group.count("/") + 1
            gone = min(self.issued // levels, self.queued[group])
            self.queued[group] -= gone
            self.issued -= gone * levels

    def throttled(self) -> set[str]:
        """The cgroups whose bios wait while the disk has nothing to do."""
        if self.requests:
            return set()
        return {group for group, count in self.queued.items() if count}


def rows(lines: Iterable[str]) -> Iterator[dict[str, object]]:
    """Yield the times in which a cgroup's bios waited and the disk was idle."""
    queues = _Queues()
    since: dict[str, int] = {}
    for line in lines:
        match = _LINE.search(line)
        if not match:
            continue
        t_ns = int(match["s"]) * 10**9 + int(match["us"]) * 1000
        queues.see(match)
        now = queues.throttled()
        for group in since.keys() - now:
            begun_ns = since.pop(group)
            span = {"t_ns": begun_ns, "dur_ns": t_ns - begun_ns}
            yield {"ev": "throttled", **span, "cgroup": group}
        for group in now - since.keys():
            since[group] = t_ns
    # what is queued at the end was not seen to end


def save(lines: Iterable[str], lost: int, path: Path) -> int:
    """Write the record; return how many times it has."""
    found = list(rows(lines))
    end = {"ev": "end", "records": len(found), "lost": lost}
    with path.open("w") as file:
        for row in (*found, end):
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    return len(found)
