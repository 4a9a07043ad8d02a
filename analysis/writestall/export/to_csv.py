# SPDX-License-Identifier: GPL-2.0-only
"""to_csv: write stalled writes as a table (RFC 4180), for spreadsheets.

A spreadsheet runs text that begins with = + - @ or a control character as a formula,
and file names come from users. Such text is prefixed with ', and so is text that begins
with ': removing the first ' restores the name. Numbers are never changed.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from writestall.chain.answers import Answer
from writestall.export.tables import writes

# Spreadsheets in East Asian languages take the full-width forms, too.
_FORMULA = "=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20"


def table(answer: Answer) -> str:
    """Write a line of names, then one line per stalled write."""
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
