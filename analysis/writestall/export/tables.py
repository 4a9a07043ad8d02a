# SPDX-License-Identifier: GPL-2.0-only
"""tables: list an answer's writes, links and blocks as rows of tables.

docs/export.md documents every column. A row is a dict in the order of its columns, for
CSV and Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from writestall.chain.answers import Answer
from writestall.chain.parts import WAIT, Chain, Part
from writestall.classify.stack import classify, role
from writestall_base import wait_classes as c
from writestall_base.units import utf8

Row = dict[str, Any]
# Classes of a write's own time, each a column of the table of writes.
AMOUNTS = (*c.WAIT_CLASSES, c.RUNNING, c.RUNQUEUE, c.UNEXPLAINED)


def fields(record: object, names: str) -> Row:
    """Those columns that are a record's own fields."""
    return {name: getattr(record, name) for name in names.split()}


def run_name(answer: Answer) -> str:
    """The run directory's name with links resolved, as valid UTF-8."""
    return utf8(answer.run.path.resolve().name)


def main_class(chain: Chain) -> str:
    """The class that a write itself waited for longest."""
    sums = class_ns(chain)
    return max(sums, key=lambda cls: sums[cls])


def class_ns(chain: Chain) -> dict[str, int]:
    """A write's duration by the class of its own waits, for all of AMOUNTS."""
    sums = dict.fromkeys(AMOUNTS, 0)
    for part in chain.parts:
        sums[part.cls] += part.dur_ns
    return sums


def writes(answer: Answer) -> Iterator[Row]:
    """Yield a row per stalled write, by start time."""
    run = run_name(answer)
    convoy_of = {
        id: convoy.writes[0][0]
        for convoy in answer.convoys.values()
        for id, _ in convoy.writes
    }
    for chain in answer.chains:
        write = chain.write
        root, root_ns = next(iter(answer.roots([chain]).items()), ("", 0))
        yield {
            "run": run,
            "write_id": chain.id,
            **fields(write, "t_ns dur_ns tid pid comm call path dev ino"),
            "offset_bytes": write.offset,
            "length_bytes": write.bytes,
            **fields(write, "ret sleeps slept_ns"),
            "explained_ns": chain.explained_ns,
            "root": str(root),
            "root_ns": root_ns,
            "main_class": main_class(chain),
            "convoy_id": convoy_of[chain.id],
            **{f"{cls}_ns": ns for cls, ns in class_ns(chain).items()},
        }


def links(answer: Answer) -> Iterator[Row]:
    """Yield a row per part of each write's tree, parents first.

    Rows without a parent add up to the write, rows of one parent to that parent.
    """
    run = run_name(answer)
    for chain in answer.chains:
        ahead: list[tuple[Part, int | None, int]] = [
            (part, None, 0) for part in reversed(chain.parts)
        ]
        number = 0
        while ahead:
            part, parent, depth = ahead.pop()
            row = {"run": run, "write_id": chain.id, "link_id": number}
            row |= {"parent_id": parent, "depth": depth}
            yield row | _link(answer, chain, part)
            below = ((inner, number, depth + 1) for inner in reversed(part.parts))
            ahead.extend(below)
            number += 1


def _link(answer: Answer, chain: Chain, part: Part) -> Row:
    holder, leaf = part.holder, not part.parts
    return {
        "kind": part.kind,
        "class": part.cls,
        "t_ns": part.start_ns,
        "dur_ns": part.dur_ns,
        **fields(part.task, "tid comm role"),
        "holder_tid": holder.tid if holder else None,
        "holder_comm": holder.comm if holder else None,
        "holder_role": holder.role if holder else None,
        "link": part.link,
        "why": part.why,
        "functions": list(part.path),
        "evidence": list(part.evidence),
        "explained": part.explained if leaf else None,
        "root": str(answer.root_of(chain, part)) if leaf else None,
    }


def blocks(answer: Answer) -> Iterator[Row]:
    """Yield a row per sleep that the tracer recorded, of any task, by time."""
    run = run_name(answer)
    for number, block in answer.stream.blocks:
        verdict = classify(block.kstack)
        yield {
            "run": run,
            "block_id": number,
            **fields(block, "t_ns dur_ns runq_ns tid pid comm"),
            "role": role(block.kstack, block.comm),
            "class": verdict.cls,
            "functions": list(verdict.path),
            "kstack": list(block.kstack),
            **fields(block, "waker_tid waker_comm waker_ctx"),
            "waker_kstack": list(block.waker_kstack),
        }


def waits(chain: Chain) -> Iterator[Part]:
    """Yield every wait of a chain that has an event, at any depth."""
    ahead = list(chain.parts)
    while ahead:
        part = ahead.pop()
        ahead.extend(part.parts)
        if part.kind == WAIT and part.evidence:
            yield part
