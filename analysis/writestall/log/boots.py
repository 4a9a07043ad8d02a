# SPDX-License-Identifier: GPL-2.0-only
"""boots: tell where a log shows another moment, or another boot, of its host.

`sysrq w` and `t` begin a new picture of the whole machine, and so does a boot. Where a
log has no line of the boot itself, its reports tell: their second line names the kernel
(kernel/hung_task.c check_hung_task()), and the time in front counts from the boot.
"""

from __future__ import annotations

import re

from writestall.log.lines import Line

_NEW = re.compile(
    r"[Ss]how (?:[Bb]locked )?[Ss]tate\b"
    r"|(?P<boot>\bLinux version \d|\b[Cc]ommand line: \w|-- (?:Reboot|Boot|boot)\b)"
)
_KERNEL = re.compile(
    r"\b(?:Not tainted|Tainted: [A-Z ]{1,40}?)\s{1,8}"
    r"(?P<release>\d+\.\d[\w.+~-]{1,80}) #"
)
_SECONDS = re.compile(r"\[\s{0,8}(?P<seconds>\d{1,12})\.\d{1,6}\]")
# Lines of several CPUs are not in the order of time, but for less than this.
_DISORDER_S = 60
# Lines between a report's first and the one that names the kernel.
_REPORT_LINES = 4


class Boots:
    """The lines of one host at which stacks begin to stand for another moment.

    `starts` are those of them at which another boot begins.
    """

    def __init__(self) -> None:
        self.marks: list[int] = []
        self.starts: list[int] = []
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
        elif "ainted" in body:
            if match := _KERNEL.search(body):
                self._kernel(number, match["release"], line.prefix)
        elif match := _NEW.search(body):
            self.marks.append(number)
            if match["boot"]:
                self.starts.append(number)

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
