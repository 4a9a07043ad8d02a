# SPDX-License-Identifier: GPL-2.0-only
"""truth: read the injector's record of delayed bios.

For `writestall check` only: a test asserts that nothing that `writestall explain`
imports imports this module.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from writestall.events.contract import Ns
from writestall.events.rows import Records, read_records


class BioDelay(Struct, tag_field="ev", tag="bio_delay", frozen=True, gc=False):
    """One delayed bio."""

    t_ns: Ns
    dur_ns: Ns
    tid: int | None = None
    comm: str | None = None
    dev: str | None = None
    mode: str | None = None
    op: str | None = None
    sector: int | None = None
    bytes: int | None = None
    requested_ns: Ns | None = None


def read_truth(path: Path) -> Records[BioDelay]:
    """Read `truth.jsonl`: every delayed bio, by time."""
    return read_records(path, BioDelay)
