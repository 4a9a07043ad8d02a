# SPDX-License-Identifier: GPL-2.0-only
"""times: read when a line of a log was printed, by the kernel's clock and the day's.

The kernel's own time counts from the boot and stands still in suspend; a date does
neither. Where a log has both, the larger gap is the true one.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

# A hung task is found between one and two timeouts after it fell asleep, and again at
# each check (kernel/hung_task.c check_hung_uninterruptible_tasks()).
CHECKS = 2
# CONFIG_DEFAULT_HUNG_TASK_TIMEOUT, which logs without such a report do not name.
TIMEOUT_S = 120

_BOOT = re.compile(
    r"\[\s{0,8}(?P<seconds>\d{1,8}\.\d{1,6})\]|^\d{1,4},\d{1,20},(?P<us>\d{1,20}),"
)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_DAY = re.compile(
    rf"\b(?P<month>{'|'.join(_MONTHS)}) {{1,2}}(?P<day>\d{{1,2}}) "
    r"(?P<clock>\d\d:\d\d:\d\d)(?: (?P<year>\d{4}))?"
)
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
# journalctl -o short-unix.
_UNIX = re.compile(r"^\s{0,4}(?P<unix>\d{9,10})\.\d{3,6} ")
# A syslog of old names no year: this one has a 29th of February.
_NO_YEAR, _YEAR_S = "2000", 366 * 86400


class Time(NamedTuple):
    """When a line was printed; None where it has no such time.

    boot_s  seconds since the boot
    date_s  seconds of the calendar
    text    as it is printed
    """

    boot_s: float | None
    date_s: float | None
    text: str
    has_year: bool = True


@lru_cache(maxsize=1024)
def time_of(stamp: str) -> Time | None:
    """The time in what stands in front of the kernel's words."""
    boot = _BOOT.search(stamp)
    seconds = None
    if boot:
        seconds = float(boot["seconds"] or int(boot["us"]) / 1e6)
    date, text, has_year = _date(stamp)
    if seconds is None and date is None:
        return None
    return Time(seconds, date, text or boot[0], has_year)  # type: ignore[index]


def _date(stamp: str) -> tuple[float | None, str, bool]:
    try:
        if match := _ISO.search(stamp):
            moment = datetime.fromisoformat(match[0])
            return (moment - datetime.min).total_seconds(), match[0], True
        if match := _DAY.search(stamp):
            words = (match["year"] or _NO_YEAR, match["month"], match["day"])
            moment = datetime.strptime(
                " ".join((*words, match["clock"])), "%Y %b %d %H:%M:%S"
            )
            seconds = (moment - datetime.min).total_seconds()
            return seconds, match[0], match["year"] is not None
    except ValueError:
        return None, "", True
    unix = _UNIX.match(stamp)
    return (float(unix["unix"]), unix[0].strip(), True) if unix else (None, "", True)


def gap_s(one: Time | None, other: Time | None) -> float | None:
    """Seconds from one time to the other; None where no clock has both."""
    if one is None or other is None:
        return None
    gaps = []
    if one.boot_s is not None and other.boot_s is not None:
        gaps.append(other.boot_s - one.boot_s)
    if one.date_s is not None and other.date_s is not None:
        gap = other.date_s - one.date_s
        if not (one.has_year and other.has_year) and gap < -_YEAR_S / 2:
            gap += _YEAR_S
        gaps.append(gap)
    return max(gaps, key=abs) if gaps else None


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3.6 h`, `8.1 days`."""
    for size, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"
