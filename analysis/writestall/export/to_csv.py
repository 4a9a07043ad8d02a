# SPDX-License-Identifier: GPL-2.0-only
"""to_csv: turns an answer into a table of stalled writes (RFC 4180), for spreadsheets.

A spreadsheet runs what begins with = + - @ or a control character as a formula, and
file names come from users: such text gets a ' in front, as does text that begins with
one, so that whoever takes the first ' away has the name back. Numbers are never
changed.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from writestall.chain.answers import Answer
from writestall.export.tables import writes

# The full-width forms count as well where the spreadsheet's language is East Asian.
_FORMULA = "=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20"


def table(answer: Answer) -> str:
    """A line of names, then one line per stalled write."""
    text = io.StringIO(newline="")
    rows = list(writes(answer))
    writer = csv.DictWriter(text, rows[0], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(tuple(_FORMULA)):
        return f"'{value}"
    return value
