# SPDX-License-Identifier: GPL-2.0-only
"""near_names: keep the names that scripts print in lines of their own before stacks."""

from __future__ import annotations

import re

from writestall.log import heads
from writestall.log.logged import LoggedTask

# Lines between a task's name and its stack, where a script printed both.
MAX_LABEL_LINES = 3
_WORD = re.compile(r"\s{0,8}(?P<comm>[A-Za-z(\[][^\s]{0,63})\s{0,8}")


class NearNames:
    """The names since the last stack. `known` is filled with what lines say of pids."""

    def __init__(self, known: dict[int, str]) -> None:
        self._known = known
        self._label: tuple[int, heads.Name] | None = None
        self._word: tuple[int, str] | None = None
        self._unnamed: int | None = None

    @property
    def is_due(self) -> bool:
        """True where the next line has the name that a line of /proc announced."""
        return self._unnamed is not None

    def completes(self, body: str) -> bool:
        """True for the name that was due."""
        pid, self._unnamed = self._unnamed, None
        if pid is None or not (word := _WORD.fullmatch(body)):
            return False
        self._known[pid] = word["comm"]
        return True

    def of_proc(self, number: int, body: str) -> bool:
        """True for a line that only names a task, in the words of /proc."""
        name = heads.name(body)
        if name is None:
            return False
        self._label = number, name
        if name.comm is None:
            self._unnamed = name.pid
        else:
            self._known[name.pid] = name.comm
        return True

    def alone(self, number: int, body: str) -> bool:
        """True for a line that holds a name and a pid; keep a line of one word, too."""
        if named := heads.processes(body):
            self._known.update((one.pid, one.comm or "") for one in named)
        elif label := heads.label(body):
            self._label = number, label
            return True
        elif word := heads.word(body):
            self._word = number, word
        return False

    def give(self, number: int, task: LoggedTask) -> None:
        """Name a task that begins in this line, if a name and a pid are near."""
        if self._label and abs(number - self._label[0]) <= MAX_LABEL_LINES:
            task.pid, task.comm = self._label[1]
            task.is_vouched = True
        self._label = None

    def give_word(self, number: int, task: LoggedTask) -> None:
        """Name it by the line before, if that is one word."""
        if self._word and self._word[0] == number - 1:
            task.comm = task.comm or self._word[1]
