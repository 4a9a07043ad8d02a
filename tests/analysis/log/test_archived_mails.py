# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold the answers to what was judged by hand of mailing lists' reports.

The texts are other people's and no part of this tree (helpers/archived_mails.py).
"""

from __future__ import annotations

from collections import Counter

import pytest

from archived_mails import answers, count, judgements

LEAST = 0.9


@pytest.fixture(scope="module")
def counted() -> Counter[str]:
    """All judged mails that are there, together."""
    total: Counter[str] = Counter()
    for mail, answer in answers():
        total += count(mail, answer)
    assert total["stacks"], "no judged mail in the folder"
    return total


def test_classes_are_right(counted: Counter[str]) -> None:
    assert counted["classes"] >= LEAST * counted["stacks"], counted


def test_judged_links_are_found_and_no_false_one(counted: Counter[str]) -> None:
    """Nine of ten links that are right; one of twenty may be false, and not surely."""
    assert counted["found"] >= LEAST * counted["links"], counted
    assert counted["false"] <= counted["found"] / 20 and not counted["surely false"]


def test_every_judgement_has_a_reason() -> None:
    for mail in judgements():
        assert mail["why"].strip() and mail["tasks"], mail["id"]
        named = {*mail.get("links", {}), *mail.get("allowed", {})}
        assert named <= {*mail["tasks"]}, mail["id"]
