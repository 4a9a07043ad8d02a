# SPDX-License-Identifier: GPL-2.0-only
"""jsonout: turns an answer into `chains.json` (docs/run-directory.md)."""

from __future__ import annotations

from typing import Any

from writestall import __version__
from writestall.model import Answer, merged
from writestall.parts import Chain, Part, Task


def chains_json(answer: Answer) -> dict[str, Any]:
    """All chains, slowest first. Event ids are line numbers of the engine's file."""
    chains = sorted(answer.chains, key=lambda chain: -chain.write.dur_ns)
    return {
        "format": 1,
        "writestall": __version__,
        "engine": answer.engine,
        "events": f"events/{answer.stream.file}",
        "lost_events": answer.stream.lost_events,
        "notes": answer.notes,
        "chains": [_chain(answer, chain) for chain in chains],
    }


def _chain(answer: Answer, chain: Chain) -> dict[str, Any]:
    write = chain.write
    roots = answer.roots([chain])
    return {
        "event": chain.id,
        "t_ns": write.t_ns,
        "dur_ns": write.dur_ns,
        "task": _task(chain.task),
        "call": write.call,
        "path": write.path,
        "dev": write.dev,
        "ino": write.ino,
        "offset": write.offset,
        "bytes": write.bytes,
        "explained_ns": chain.explained_ns,
        "root": str(next(iter(roots), "")),
        "ns_by_root": {str(root): ns for root, ns in roots.items()},
        "parts": [_part(part) for part in merged(chain.parts)],
    }


def _part(part: Part) -> dict[str, Any]:
    row: dict[str, Any] = {
        "kind": part.kind,
        "class": part.cls,
        "dur_ns": part.dur_ns,
        "t_ns": part.start_ns,
        "task": _task(part.task),
        "waits": part.waits,
        "path": list(part.path),
        "holder": _task(part.holder) if part.holder else None,
        "link": part.link,
        "why": part.why,
        "evidence": list(part.evidence),
    }
    if part.parts:
        row["parts"] = [_part(inner) for inner in part.parts]
    else:
        row["explained"] = part.explained
    return row


def _task(task: Task) -> dict[str, Any]:
    return {"tid": task.tid, "comm": task.comm, "role": task.role}
