# SPDX-License-Identifier: GPL-2.0-only
"""requests: write the latencies of what a command says of its requests.

A line of its `requests.jsonl` is one request: {"t_ns", "dur_ns", "tid", "what"}, and
`intended_ns` where it was to start earlier (docs/applications.md). Times are
CLOCK_MONOTONIC.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from labrun.workloads import hdr
from writestall_base.errors import StepError

FILE = "requests.jsonl"


def save(recorded: Path, stem: Path) -> str:
    """Write STEM.hlog, from the intended start, and STEM-service.hlog; return a count.

    Raises StepError at a line that is not of this form.
    """
    rows = [
        _row(recorded.name, number, line)
        for number, line in enumerate(recorded.read_text().splitlines(), 1)
    ]
    if not rows:
        return "no request"
    begun_ns = min(intended for intended, _, _ in rows)
    realtime_ns = time.time_ns() - time.monotonic_ns() + begun_ns
    for name, what, at in (("", "from the intended start", 1), ("-service", "", 2)):
        pairs = ((row[0], row[at]) for row in rows)
        text = hdr.log(f"requests: ns {what}".strip(), begun_ns, realtime_ns, pairs)
        stem.with_name(f"{stem.name}{name}.hlog").write_text(text)
    slowest_ns = max(latency for _, latency, _ in rows)
    return f"{len(rows)} requests, slowest {slowest_ns / 1e6:.1f} ms"


def _row(name: str, number: int, line: str) -> tuple[int, int, int]:
    """Return a request's intended start, latency from there, and duration, in ns."""
    try:
        found = json.loads(line)
        began_ns, dur_ns = int(found["t_ns"]), int(found["dur_ns"])
        intended_ns = min(int(found.get("intended_ns", began_ns)), began_ns)
    except (ValueError, KeyError, TypeError, AttributeError):
        want = '{"t_ns": N, "dur_ns": N, "tid": N, "what": "..."}'
        raise StepError(f"{name}:{number}: want {want}, got {line[:80]!a}") from None
    return intended_ns, began_ns + dur_ns - intended_ns, dur_ns
