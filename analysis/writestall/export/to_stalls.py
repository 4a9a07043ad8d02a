# SPDX-License-Identifier: GPL-2.0-only
"""to_stalls: write how long each call stalled, in which waits and why, for a replay."""

from __future__ import annotations

from writestall.chain.answers import Answer
from writestall.events.run_directory import json_bytes
from writestall.verdict.replayed_calls import stalls


def document(answer: Answer) -> str:
    """The stalls, without names: duration, ns by class of waiting and by root."""
    begin = answer.stream.begin
    limit_ns = begin.stall_ns if begin else None
    return json_bytes({"limit_ns": limit_ns, "stalls": stalls(answer)}).decode()
