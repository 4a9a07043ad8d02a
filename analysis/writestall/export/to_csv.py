# SPDX-License-Identifier: GPL-2.0-only
"""to_csv: write stalled writes as a table (RFC 4180), for spreadsheets.

No text is run as a formula (common/spreadsheets.py); numbers are never changed.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from writestall.chain.answers import Answer
from writestall.common.spreadsheets import no_formula
from writestall.export.tables import writes


def table(answer: Answer) -> str:
    """Write a line of names, then one line per stalled write."""
    text = io.StringIO(newline="")
    rows = list(writes(answer))
    writer = csv.DictWriter(text, rows[0], lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return no_formula(value) if isinstance(value, str) else value
