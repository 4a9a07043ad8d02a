#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""render-course: render the numbers of docs/course_numbers.py on the pages of the labs.

usage: PYTHONPATH=base:analysis docs/render-course.py [--check]

Each text is looked for on its page, line ends being blanks, and its numbers are
replaced by those of the recorded run. --check writes nothing: its status is 1 where a
page differs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rendering

if TYPE_CHECKING:
    from course_numbers import Number

SOURCE = Path("docs/course_numbers.py")
PAGES = Path("docs/course")
VALUE = r"([\d.,]+(?<![.,])|[A-Za-z]+)"


def pattern(text: str) -> re.Pattern[str]:
    """A text as it may be wrapped on a page, with a group for each number."""
    known = (re.escape(part) for part in text.split("{}"))
    return re.compile(VALUE.join(known).replace(r"\ ", r"\s+"))


def _put(page: str, number: Number, values: tuple[str, ...]) -> str:
    """A page with the values in the place of its numbers."""
    found = pattern(number.text).search(page)
    if found is None:
        raise SystemExit(f"lab {number.lab}: not on its page: {number.text}")
    for group in range(len(values), 0, -1):
        start, end = found.span(group)
        page = page[:start] + values[group - 1] + page[end:]
    return page


def rendered(tree: Path) -> dict[Path, str]:
    """All pages of the labs."""
    # These need the libraries of the analysis, which --help does without.
    import course_numbers
    from writestall.course import tables

    places = {lab.number: PAGES / lab.page for lab in tables.labs()}
    pages = {place: (tree / place).read_text() for place in places.values()}
    for number, values in course_numbers.values():
        place = places[number.lab]
        pages[place] = _put(pages[place], number, values)
    return pages


if __name__ == "__main__":
    sys.exit(rendering.main(__doc__ or "", SOURCE, rendered))
