# SPDX-License-Identifier: GPL-2.0-only
"""results: the table and the closing line of a test run, from the files of pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

PASSED, SKIPPED = "passed", "skipped"
BAD = ("failure", "error")
COLUMNS = ("folder", PASSED, *BAD, SKIPPED, "seconds")


@dataclass(frozen=True)
class Result:
    """One test: the folder below tests/, how it ended, its duration, and why it was
    skipped."""

    folder: str
    ended: str
    took_s: float
    reason: str


def read(files: Iterable[Path]) -> list[Result]:
    """The results in JUnit's files of pytest (xunit1); none where a file is missing."""
    found = []
    for file in files:
        if file.exists():
            cases = ElementTree.parse(file).iter("testcase")
            found += [_result(case) for case in cases]
    return found


def ended(case: ElementTree.Element) -> str:
    """How a test case of such a file ended, in one of the words above."""
    words = (word for word in (*BAD, SKIPPED) if case.find(word) is not None)
    return next(words, PASSED)


def _result(case: ElementTree.Element) -> Result:
    # file="tests/lab/test_lab.py"; missing for what failed before it was collected
    parts = Path(case.get("file") or case.get("name") or "").parts
    skipped = case.find(SKIPPED)
    return Result(
        parts[1] if len(parts) > 2 else "other",
        ended(case),
        float(case.get("time", 0)),
        "" if skipped is None else skipped.get("message", ""),
    )


def lines(found: list[Result]) -> Iterator[str]:
    """A row for each folder, the reasons of skips, and the sums."""
    width = max(len("folder"), *(len(one.folder) for one in found), 0)
    row = f"{{:{width}}}" + "{:>9}" * (len(COLUMNS) - 1)
    yield row.format(*COLUMNS)
    for folder in sorted({one.folder for one in found}):
        own = [one for one in found if one.folder == folder]
        counts = Counter(one.ended for one in own)
        took_s = round(sum(one.took_s for one in own))
        yield row.format(folder, *(counts[word] for word in COLUMNS[1:-1]), took_s)
    reasons = Counter(one.reason for one in found if one.ended == SKIPPED)
    for reason, times in reasons.most_common():
        yield f"skipped {times}: {reason}"
    counts = Counter(one.ended for one in found)
    yield (
        f"test: {len(found)} tests, {counts['failure']} failures, {counts['error']}"
        f" errors, {counts[SKIPPED]} skipped"
    )
