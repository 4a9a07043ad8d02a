# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare links with those judged by hand in public bug reports.

The texts were written by others and are not part of this tree
(helpers/reported_stacks.py).
"""

from __future__ import annotations

import pytest

from public_links import Score, judgements, score
from reported_stacks import reported_cases

LEAST = 0.9


@pytest.fixture(scope="module")
def scored() -> Score:
    """All judged reports; skipped where their texts are not there."""
    return score(reported_cases())


def test_judged_links_are_found(scored: Score) -> None:
    """Nine of ten correct links."""
    assert scored.share >= LEAST, scored.missed


def test_no_false_link_is_certain(scored: Score) -> None:
    """Told and likely links are correct."""
    assert not scored.certain, scored.certain


def test_false_links_are_few(scored: Score) -> None:
    """Including `possible` ones: at most one in twenty."""
    assert len(scored.false) <= len(scored.right) / 20, scored.false


def test_every_judgement_has_a_reason() -> None:
    for report in judgements():
        assert report["why"].strip(), report["name"]
