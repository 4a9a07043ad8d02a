# SPDX-License-Identifier: GPL-2.0-only
"""kernel_reports: read what a log reports of disks, servers and the kernel itself.

These lines are no stacks, but tell why a disk does not answer, or who died with a lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from writestall.log.boots import Boots
from writestall.log.logged import LoggedTask
from writestall.log.report_kinds import KINDS
from writestall.log.times import Time, gap_s, time_of

SIGNS = tuple(dict.fromkeys(sign for sign, *_ in KINDS))
_FORMS = tuple(
    (sign, re.compile(form), words, source) for sign, form, words, source in KINDS
)
_ANY = re.compile("|".join(map(re.escape, SIGNS)))
# What was reported longer than this before the first stack is another matter.
BEFORE_S = 12 * 3600
SHOWN = 4
_MOST = 1000  # of one host
# Who prints what is of a disk, its link or its path. A device of USB may be any.
_OF_DISKS = (
    "block/",
    *(f"drivers/{name}/" for name in "ata block md mmc nvme scsi".split()),
)


@dataclass(slots=True)
class Report:
    """What one or several lines report: `line` is the first, `time` that of the last;
    `host` is empty where the log names none."""

    line: int
    words: str
    time: Time | None
    host: str = ""
    times: int = 1
    of_disk: bool = False


class ReportLines:
    """Collects what the lines of a host report; takes no line away."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], Report] = {}

    def line(self, number: int, body: str, stamp: str, boot: int) -> None:
        """Take the next line, of that boot; `stamp` has its time."""
        is_frame = "+0x" in body and ":" not in body
        if is_frame or not _ANY.search(body):
            return
        for sign, form, words, source in _FORMS:
            if sign in body and (match := form.search(body)):
                said = words.format(**match.groupdict())
                known = self._found.get((said, boot))
                if known:
                    known.times, known.time = known.times + 1, time_of(stamp)
                elif len(self._found) < _MOST:
                    one = Report(number, said, time_of(stamp))
                    one.of_disk = source.startswith(_OF_DISKS)
                    self._found[said, boot] = one
                return

    def near(self, tasks: Iterable[LoggedTask], boots: Boots) -> Iterator[Report]:
        """What was reported in the boots of these tasks, BEFORE_S before at most."""
        firsts: dict[int, LoggedTask] = {}
        for task in tasks:
            firsts.setdefault(boots.number(task.line), task)
        for (_, boot), report in self._found.items():
            first = firsts.get(boot)
            if first and (gap_s(report.time, first.time) or 0) <= BEFORE_S:
                yield report


def said(reports: Sequence[Report]) -> str:
    """What the log has besides stacks, in one line."""
    several = len({one.host for one in reports}) > 1
    found = []
    for one in reports[:SHOWN]:
        where = f" on {one.host}" if several and one.host else ""
        times = f"{one.times} times, from " if one.times > 1 else ""
        found.append(f"{one.words}{where} ({times}line {one.line})")
    if len(reports) > SHOWN:
        found.append(f"and {len(reports) - SHOWN} more")
    return f"the log also reports: {'; '.join(found)}"
