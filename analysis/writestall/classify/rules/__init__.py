# SPDX-License-Identifier: GPL-2.0-only
"""rules: the tables of rules in the order of evaluation (form.py has the form)."""

from __future__ import annotations

from writestall.classify.rules import (
    block,
    events,
    file_systems,
    journal,
    locks,
    own_io,
    pages,
    servers,
)

OVERRIDES = pages.OVERRIDES
ORDER = (pages, journal, own_io, events, block, file_systems, servers, locks)
RULES = tuple(rule for table in ORDER for rule in table.RULES)
