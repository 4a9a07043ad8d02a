# SPDX-License-Identifier: GPL-2.0-only
"""thing: find out what `explain` was given: a run, a tracer's events, or a log."""

from __future__ import annotations

from pathlib import Path

from writestall.common import compressed
from writestall.events.run_directory import are_events
from writestall_base.errors import UserError

RUN, EVENTS, LOG = "run directory", "events of a tracer, without a manifest", "log"


def kind(place: Path) -> str:
    """One of RUN, EVENTS, LOG; raises UserError for a file there is not."""
    if place.is_dir():
        return RUN
    try:
        return EVENTS if are_events(compressed.head(str(place))) else LOG
    except FileNotFoundError:
        raise UserError(f"{place}: no such run or file") from None
    except OSError as error:
        raise UserError(f"{place}: {error.strerror}") from None
