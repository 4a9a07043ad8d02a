# SPDX-License-Identifier: GPL-2.0-only
"""rules: the tables of rules in the order they are asked (rule.py tells the form)."""

from __future__ import annotations

from writestall import (
    rules_block,
    rules_fs,
    rules_journal,
    rules_locks,
    rules_pages,
)

OVERRIDES = rules_pages.OVERRIDES
RULES = (
    rules_pages.RULES
    + rules_journal.RULES
    + rules_block.RULES
    + rules_fs.RULES
    + rules_locks.RULES
)
