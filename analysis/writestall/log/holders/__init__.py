# SPDX-License-Identifier: GPL-2.0-only
"""holders: the tables of who can end a wait, by the class of the wait."""

from __future__ import annotations

from collections.abc import Mapping

from writestall.log.holders import (
    devices,
    journals,
    locks,
    pages,
    processes,
    transactions,
)
from writestall.log.holders.form import Holder

HOLDERS: Mapping[str, tuple[Holder, ...]] = (
    journals.HOLDERS
    | transactions.HOLDERS
    | pages.HOLDERS
    | locks.HOLDERS
    | devices.HOLDERS
    | processes.HOLDERS
)
