# SPDX-License-Identifier: GPL-2.0-only
"""forced_processes: have the analysis divide its work, however small the input."""

from __future__ import annotations

import pytest

from writestall.common import workers


def share(monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    """Force this number of processes."""
    monkeypatch.setattr(workers, "count", lambda work, worth: processes)
