# SPDX-License-Identifier: GPL-2.0-only
"""truth: turns the injector's own record into delayed bios.

For `writestall check` alone: nothing that `writestall explain` imports may import this
module, or the explainer would be told its answer (a test holds it to that).
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from writestall.events.contract import Ns
from writestall.events.rows import Records, read_records


class BioDelay(Struct, tag_field="ev", tag="bio_delay", frozen=True, gc=False):
    """One delayed bio, as the injector caught it."""

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
    """Reads `truth.jsonl`: every delayed bio, by the time it was caught."""
    return read_records(path, BioDelay)
