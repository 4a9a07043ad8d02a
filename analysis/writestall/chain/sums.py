# SPDX-License-Identifier: GPL-2.0-only
"""sums: turns what was counted of all chains, slowest first, back into words."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import repeat

from writestall.chain import tally
from writestall.chain.columns import NAMES, WRITE
from writestall.chain.ledger import Ledger
from writestall.chain.roots import Root
from writestall.chain.tally import Account, Asked, Found
from writestall.classify.classes import DEVICE_IO
from writestall.common import machine_code

# Parts of a chain, and keys for each of them, that there is room for at first.
FEW_PARTS, KEYS = 256, 16
# A question, its answer's place, what it is of, the answer and the sum.
Row = tuple[int, int, int, int, int]
_ON_BOXES = (tally.Q_NAMES, tally.Q_BOX)


class Counted:
    """A table of sums (tally.py), and columns with a number for each write.

    keys, answers, sums            the table
    roots, root_ns, behind, cells  as in tally.Found
    """

    def __init__(self, columns: Iterable[array[int]] = ()) -> None:
        given = [*columns] or [array("q") for _ in range(7)]
        self.keys, self.answers, self.sums, *rest = given
        self.roots, self.root_ns, self.behind, self.cells = rest

    def join(self, other: Counted) -> None:
        """Takes in what was counted of the writes behind its own."""
        keys = zip(self.keys, self.answers, strict=True)
        places = {key: at for at, key in enumerate(keys)}
        place_of: list[int] = []
        rows = zip(other.keys, other.answers, other.sums, strict=True)
        for key, answer, amount in rows:
            of, question = divmod(key, tally.QUESTIONS)
            if question in _ON_BOXES:
                key = question + tally.QUESTIONS * place_of[of]
            at = places.setdefault((key, answer), len(places))
            if at == len(self.keys):
                self.keys.append(key)
                self.answers.append(answer)
                self.sums.append(0)
            self.sums[at] += amount
            place_of.append(at)
        for name in Found._fields:
            getattr(self, name).extend(getattr(other, name))


def count(ledger: Ledger, writes: array[int], asked: Asked) -> Counted:
    """Counts some writes (records of columns.py)."""
    code = machine_code.code(tally) if ledger.fast else tally
    tables, given = ledger.tables(), ledger.given(writes)
    found = Found(*(ledger.blank(len(writes) // WRITE) for _ in Found._fields))
    counted, room, at = Counted(), FEW_PARTS, 0
    while True:
        scratch, account = ledger.scratch(room), _account(ledger, KEYS * room)
        first = at
        at = code.gather(tables, scratch, account, found, given, asked, first)
        table = [column[: account.used[0]] for column in account[1:4]]
        columns = table + [column[first:at] for column in found]
        counted.join(Counted(array("q", bytes(column)) for column in columns))
        if at == len(found.roots):
            return counted
        room *= 2


def _account(ledger: Ledger, keys: int) -> Account:
    slots, *columns = map(ledger.blank, (2 * keys, *repeat(keys, 4), keys + 1, 1))
    return Account(slots, *columns)


class Sums:
    """What was counted, in words; times are in ns.

    behind   for each write, slowest first, a number that those of one convoy share
    cells    for each of them one that those in a cell of the asked map share
    by_class, by_root  in the order they were met in
    """

    def __init__(self, counted: Counted, ledger: Ledger) -> None:
        self._counted, self.ledger = counted, ledger
        self._roots: dict[int, Root] = {}
        self.behind, self.cells = counted.behind, counted.cells
        totals = {answer: amount for *_, answer, amount in self.rows(tally.Q_TOTAL)}
        self.totals = [totals.get(answer, 0) for answer in range(tally.TOTALS)]
        classes, roots = self.rows(tally.Q_CLASS), self.rows(tally.Q_ROOT)
        self.by_class = {NAMES[cls]: ns for *_, cls, ns in classes}
        self.by_root = {self.root(root): ns for *_, root, ns in roots}

    @property
    def explained_ns(self) -> int:
        """How much of the stall time is explained."""
        return self.totals[tally.EXPLAINED]

    def rows(self, *questions: int) -> Iterator[Row]:
        """Answers to questions, in the order they were met in."""
        counted = self._counted
        rows = zip(counted.keys, counted.answers, counted.sums, strict=True)
        for at, (key, answer, amount) in enumerate(rows):
            of, question = divmod(key, tally.QUESTIONS)
            if question in questions:
                yield question, at, of, answer, amount

    def root(self, number: int) -> Root:
        """What a root's number stands for."""
        known = self._roots.get(number)
        if known is None:
            rest, disk = divmod(number, tally.WORD)
            cls, who = divmod(rest, tally.WORD)
            words, name = self.ledger.words.values, NAMES[cls]
            device = words[disk] if name == DEVICE_IO else None
            known = self._roots[number] = Root(name, words[who], device)
        return known

    def main_root(self, at: int) -> tuple[Root, int]:
        """What most of the write with that place comes down to, and how much of it;
        one of no length is unexplained."""
        return self.root(self._counted.roots[at]), self._counted.root_ns[at]
