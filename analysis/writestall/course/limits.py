# SPDX-License-Identifier: GPL-2.0-only
"""limits: what an answer and a question may hold."""

from __future__ import annotations

MOST_WORD = 100  # characters of a seed or a name
MOST_CHAIN = 2000
MOST_PREDICTION = 2000
MOST_MS = 1e9
MOST_TRIES = 1_000_000
MOST_RECORD_BYTES = 64 << 10  # of a file that holds one of them
