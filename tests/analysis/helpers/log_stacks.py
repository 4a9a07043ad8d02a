# SPDX-License-Identifier: GPL-2.0-only
"""log_stacks: write kernel logs of stuck tasks for the tests of links between them."""

from __future__ import annotations

from dataclasses import dataclass

from writestall.log.links import LogAnswer, explain_log
from writestall.log.reading import read_log


@dataclass(frozen=True)
class Shown:
    """One task as sched_show_task() prints it; `stack` is innermost first."""

    comm: str
    pid: int
    stack: str
    work: str = ""
    state: str = "D"

    def lines(self) -> list[str]:
        """The task's line, its work and its frames; `name/module` is a module's."""
        shown = [
            f"task:{self.comm:<15} state:{self.state} stack:0     pid:{self.pid:<5} "
            f"tgid:{self.pid:<5} ppid:2      flags:0x00004000"
        ]
        if self.work:
            shown.append(f"Workqueue: {self.work}")
        shown += ["Call Trace:", " <TASK>"]
        for name in self.stack.split():
            symbol, _, module = name.partition("/")
            shown.append(f" {symbol}+0x10/0x90" + (f" [{module}]" if module else ""))
        return [*shown, " </TASK>"]

    def report(self, *after: str) -> list[str]:
        """A hung-task report; `after` are the lines after its stack."""
        return [
            f"INFO: task {self.comm}:{self.pid} blocked for more than 122 seconds.",
            "      Not tainted 6.18.2 #1",
            *self.lines(),
            *after,
        ]


def explained(*lines: str | list[str]) -> LogAnswer:
    """The answer to a log of these lines and reports."""
    text: list[str] = []
    for part in lines:
        text += [part] if isinstance(part, str) else part
    return explain_log(read_log(text))


def named(answer: LogAnswer) -> dict[str, tuple[str, str]]:
    """The holder and confidence of each waiter, by the tasks' names."""
    return {
        answer.tasks[at].task.comm or "": (link.holder.task.comm or "", link.confidence)
        for at, link in answer.links.items()
    }


def joined(*tasks: Shown) -> dict[str, tuple[str, str]]:
    """The links between tasks that are reported one after the other."""
    return named(explained(*(task.report() for task in tasks)))


def assert_linked(waiter: Shown, holder: Shown, confidence: str) -> None:
    """The one waits for the other, in either order in the log."""
    for tasks in ((waiter, holder), (holder, waiter)):
        assert joined(*tasks)[waiter.comm] == (holder.comm, confidence)
