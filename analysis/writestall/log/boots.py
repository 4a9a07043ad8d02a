# SPDX-License-Identifier: GPL-2.0-only
"""boots: find where a log shows another moment, or another boot, of its host.

`sysrq w` and `t` begin a new picture of the whole machine, and so does a boot. Where a
log has no line of the boot itself, its reports do: their second line names the kernel
(kernel/hung_task.c check_hung_task()), and the time in front counts from the boot.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import cached_property

from writestall.log.lines import Line
from writestall.log.times import CHECKS, TIMEOUT_S

_NEW = re.compile(
    r"[Ss]how (?:[Bb]locked )?[Ss]tate\b"
    r"|(?P<boot>\bLinux version \d|\b[Cc]ommand line: \w|-- (?:Reboot|Boot|boot)\b)"
)
_KERNEL = re.compile(
    r"\b(?:Not tainted|Tainted: [A-Z ]{1,40}?)\s{1,8}"
    r"(?P<release>\d+\.\d[\w.+~-]{1,80}) #"
    # kernel/locking/lockdep.c print_kernel_ident().
    r"|\b(?P<ident>\d+\.\d[\w.+~-]{1,80}) #\S{1,16} (?:Not tainted|Tainted:)"
)
_SECONDS = re.compile(r"\[\s{0,8}(?P<seconds>\d{1,12})\.\d{1,6}\]")
_HUNG_S = re.compile(r" for more than (?P<seconds>\d{1,8}) sec")
_SUPPRESSED = "hung task reports are suppressed"
_WARNINGS = 10
# Lines of several CPUs are not in the order of time, but for less than this.
_DISORDER_S = 60
# Lines between a report's first and the one that names the kernel.
_REPORT_LINES = 4


class Boots:
    """The lines of one host at which stacks begin to stand for another moment.

    `starts` are those of them at which another boot begins. `suppressed` are the lines
    that say that no hung task is reported any more.
    """

    def __init__(self) -> None:
        self.marks: list[int] = []
        self.starts: list[int] = []
        self.suppressed: list[int] = []
        self._hung_s: int | None = None
        self._reports: list[int] = []
        self._report = 0
        self._release = ""
        self._seconds = 0

    def line(self, number: int, line: Line) -> None:
        """Take the next line, in the order of time."""
        body = line.body
        if "+0x" in body:
            return
        if "INFO: task " in body:
            self._report = number
            if match := _HUNG_S.search(body):
                self._reports.append(number)
                hung_s = int(match["seconds"])
                self._hung_s = min(hung_s, self._hung_s or hung_s)
        elif _SUPPRESSED in body:
            self.suppressed.append(number)
        elif "ainted" in body:
            if match := _KERNEL.search(body):
                release = match["release"] or match["ident"]
                self._kernel(number, release, line.prefix)
        elif match := _NEW.search(body):
            self.marks.append(number)
            if match["boot"]:
                self.starts.append(number)

    @property
    def window_s(self) -> int:
        """How far apart reports of tasks may be that were stuck at once.

        A report says how long its task has slept since 5.0, the timeout before that
        (kernel/hung_task.c check_hung_task()): the shortest is near the timeout.
        """
        return CHECKS * (self._hung_s or TIMEOUT_S)

    def has_more(self, line: int) -> bool:
        """True where a boot's reports are as many as the kernel makes by itself
        (kernel/hung_task.c sysctl_hung_task_warnings): others may hang, too."""
        return self._of_boots[self.number(line)] == _WARNINGS

    @cached_property
    def _of_boots(self) -> Counter[int]:
        return Counter(map(self.number, self._reports))

    def number(self, line: int) -> int:
        """Which boot of the host a line is of."""
        return bisect_right(self.starts, line)

    def _kernel(self, number: int, release: str, prefix: str) -> None:
        """Compare a report with the one before."""
        stamp = _SECONDS.search(prefix)
        seconds = int(stamp["seconds"]) if stamp else self._seconds
        again = seconds < self._seconds - _DISORDER_S
        if again or release != (self._release or release):
            near = number - self._report <= _REPORT_LINES
            self.marks.append(self._report if near else number)
            self.starts.append(self.marks[-1])
        self._release, self._seconds = release, seconds
