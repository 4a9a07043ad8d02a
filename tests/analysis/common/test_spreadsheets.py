# SPDX-License-Identifier: GPL-2.0-only
"""This test will keep what users name from being run as a spreadsheet's formula."""

from __future__ import annotations

import pytest

from writestall.common.spreadsheets import no_formula


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'=1", "\uff1d1"]
)
def test_a_formula_is_text_and_one_quote_less_is_what_it_was(text: str) -> None:
    assert no_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-", "anna", "1-2"])
def test_other_text_stays(text: str) -> None:
    assert no_formula(text) == text
