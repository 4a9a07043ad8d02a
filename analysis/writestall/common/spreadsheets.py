# SPDX-License-Identifier: GPL-2.0-only
"""spreadsheets: keep text of a table from being run as a formula.

A spreadsheet runs text that begins with = + - @ or a control character as a formula,
and names come from users. Such text is prefixed with ', and so is text that begins with
': removing the first ' restores the name.
"""

from __future__ import annotations

# Spreadsheets in East Asian languages take the full-width forms, too.
_FORMULA = tuple("=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20")


def no_formula(text: str) -> str:
    """The text as a cell that is shown as it is; a lone `-` is no formula."""
    return f"'{text}" if text.startswith(_FORMULA) and text != "-" else text
