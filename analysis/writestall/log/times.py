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
_ISO = re.compile(r"\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d")
# Month or day first: where both may be, nobody knows, and the gap is near all the same.
_NUMBERS = re.compile(
    r"\b(?P<one>\d{1,2})[./-](?P<two>\d{1,2})[./-](?P<year>\d{4}),? "
    r"(?P<clock>\d\d:\d\d:\d\d)"
)
# A time of the day alone: of which day, only the next line may show.
_CLOCK = re.compile(r"^\W{0,4}(?P<clock>\d\d:\d\d:\d\d)(?:[.,]\d{1,6})?\b")
# journalctl -o short-unix.
_UNIX = re.compile(r"^\s{0,4}(?P<unix>\d{9,10})\.\d{3,6} ")
# A syslog of old names no year: this one has a 29th of February.
_NO_YEAR, _YEAR_S, _DAY_S = "2000", 366 * 86400, 86400
# Months in a year: a larger number is a day's.
_MOST = 12
# A line with nothing but a time: of date(1), uptime(1), watch(1).
_NOTED = re.compile(
    r"[\W_]{0,8}(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w{0,6},? [\w :.,+/-]{12,44}"
    r"[\W_]{0,8}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\w :.,+-]{0,16}[\W_]{0,8}"
    r"|\d\d:\d\d:\d\d up .{1,80}|Every \d.{1,160})"
)


class Time(NamedTuple):
    """When a line was printed; None where it has no such time.

    boot_s  seconds since the boot
    date_s  seconds of the calendar
    text    as it is printed
    period_s  after so many seconds the date is the same again: a year, or a day,
              where the text has no year or no day
    """

    boot_s: float | None
    date_s: float | None
    text: str
    period_s: int = 0


@lru_cache(maxsize=1024)
def time_of(stamp: str) -> Time | None:
    """The time in what stands in front of the kernel's words."""
    boot = _BOOT.search(stamp)
    seconds = None
    if boot:
        seconds = float(boot["seconds"] or int(boot["us"]) / 1e6)
    date, text, period_s = _date(stamp)
    if seconds is None and date is None:
        return None
    return Time(seconds, date, text or boot[0], period_s)  # type: ignore[index]


def noted(body: str) -> bool:
    """True for a line that says when the lines after it were printed."""
    return _NOTED.fullmatch(body) is not None and time_of(body) is not None


def _date(stamp: str) -> tuple[float | None, str, int]:
    """Seconds, text and period of the date in a line."""
    try:
        if match := _ISO.search(stamp):
            text = re.sub("[/.]", "-", match[0])
            return _seconds(datetime.fromisoformat(text)), match[0], 0
        if match := _NUMBERS.search(stamp):
            one, two = sorted(
                (match["one"], match["two"]), key=lambda n: int(n) > _MOST
            )
            words = f"{match['year']} {one} {two} {match['clock']}"
            return _seconds(datetime.strptime(words, "%Y %m %d %H:%M:%S")), match[0], 0
        if match := _DAY.search(stamp):
            words = " ".join((match["year"] or _NO_YEAR, *match.group(1, 2, 3)))
            moment = datetime.strptime(words, "%Y %b %d %H:%M:%S")
            return _seconds(moment), match[0], 0 if match["year"] else _YEAR_S
        if match := _CLOCK.match(stamp):
            moment = datetime.strptime(match["clock"], "%H:%M:%S")
            return _seconds(moment), match["clock"], _DAY_S
    except ValueError:
        return None, "", 0
    unix = _UNIX.match(stamp)
    return (float(unix["unix"]), unix[0].strip(), 0) if unix else (None, "", 0)


def _seconds(moment: datetime) -> float:
    return (moment - datetime.min).total_seconds()


def gap_s(one: Time | None, other: Time | None) -> float | None:
    """Seconds from one time to the other; None where no clock has both."""
    if one is None or other is None:
        return None
    gaps = []
    if one.boot_s is not None and other.boot_s is not None:
        gaps.append(other.boot_s - one.boot_s)
    if one.date_s is not None and other.date_s is not None:
        gap = other.date_s - one.date_s
        period_s = max(one.period_s, other.period_s)
        if gap < -period_s / 2 < 0:
            gap += period_s
        # A clock and a date have no gap.
        if (one.period_s == _DAY_S) == (other.period_s == _DAY_S):
            gaps.append(gap)
    return max(gaps, key=abs) if gaps else None


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3.6 h`, `8.1 days`."""
    for size, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"
